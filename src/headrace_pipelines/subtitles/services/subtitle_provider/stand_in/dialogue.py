"""Invented dialogue: the same film says the same in every language, cue by cue and at the same times."""

from __future__ import annotations

import random

# ruff: noqa: RUF001  # some letters of Hebrew look like Latin ones
FILM_CUES = 650
EPISODE_CUES = 320

_LINES: dict[str, tuple[str, ...]] = {
    "en": (
        "Did you hear that, {a}?",
        "I heard nothing but the wind.",
        "Then why is the harbour light out?",
        "Because somebody turned it off.\nAnd that somebody is still here.",
        "<i>{a}, come in. Do you read me?</i>",
        "We should have told {b} everything.",
        "- Where were you last night?\n- Where I always am.",
        "You never answer what I ask.",
        "Nine years. And you stand here as if it were nothing.",
        "[DOOR CREAKS]",
        "If the tide turns before six, we lose the boat.",
        "Give me the map, {b}. Now.",
        "My father drew that map. It is wrong on purpose.",
        "Listen... do you hear the bells?",
        "♪ Home is where the river slows ♪",
        "I am not afraid of you, {a}.\nI am afraid of being right.",
        "Take the letter. Burn it when you have read it.",
        "Nobody leaves this island on a Sunday.",
        "What did the old woman give you?",
        "A key. And a door that does not exist.",
    ),
    "he": (
        "שמעת את זה, {a}?",
        "לא שמעתי דבר חוץ מהרוח.",
        "אז למה כבה האור בנמל?",
        "כי מישהו כיבה אותו.\nוהמישהו הזה עדיין כאן.",
        "<i>{a}, האם שומעים אותי?</i>",
        "היינו צריכים לספר ל{b} הכול.",
        "- איפה היית אתמול בלילה?\n- איפה שאני תמיד.",
        "אתה אף פעם לא עונה על מה שאני שואלת.",
        "תשע שנים. ואתה עומד כאן כאילו כלום.",
        "[חריקת דלת]",
        "אם הגאות תתהפך לפני שש, נאבד את הסירה.",
        "תן לי את המפה, {b}. עכשיו.",
        "אבא שלי צייר את המפה. היא שגויה בכוונה.",
        "תקשיבי... את שומעת את הפעמונים?",
        "♪ הבית הוא היכן שהנהר נרגע ♪",
        "אני לא מפחד ממך, {a}.\nאני מפחד שאני צודק.",
        "קחי את המכתב. שרפי אותו אחרי שתקראי.",
        "אף אחד לא עוזב את האי ביום ראשון.",
        "מה נתנה לך הזקנה?",
        "מפתח. ודלת שלא קיימת.",
    ),
    "es": (
        "¿Has oído eso, {a}?",
        "No he oído más que el viento.",
        "¿Entonces por qué está apagada la luz del puerto?",
        "Porque alguien la apagó.\nY ese alguien sigue aquí.",
        "<i>{a}, responde. ¿Me recibes?</i>",
        "Debimos contárselo todo a {b}.",
        "- ¿Dónde estabas anoche?\n- Donde siempre.",
        "Nunca respondes a lo que pregunto.",
        "Nueve años. Y estás aquí como si nada.",
        "[CRUJE UNA PUERTA]",
        "Si cambia la marea antes de las seis, perdemos el barco.",
        "Dame el mapa, {b}. Ahora.",
        "Mi padre dibujó ese mapa. Está mal a propósito.",
        "Escucha... ¿oyes las campanas?",
        "♪ El hogar está donde el río se calma ♪",
        "No te tengo miedo, {a}.\nTengo miedo de tener razón.",
        "Toma la carta. Quémala cuando la hayas leído.",
        "Nadie sale de esta isla un domingo.",
        "¿Qué te dio la anciana?",
        "Una llave. Y una puerta que no existe.",
    ),
    "fr": (
        "Tu as entendu ça, {a} ?",
        "Je n'ai entendu que le vent.",
        "Alors pourquoi le feu du port est-il éteint ?",
        "Parce que quelqu'un l'a éteint.\nEt ce quelqu'un est encore ici.",
        "<i>{a}, répondez. Vous m'entendez ?</i>",
        "On aurait dû tout dire à {b}.",
        "- Où étais-tu hier soir ?\n- Là où je suis toujours.",
        "Tu ne réponds jamais à ce que je demande.",
        "Neuf and. Et tu restes là comme si de rien n'était.",
        "[UNE PORTE GRINCE]",
        "Si la marée tourne avant six heures, on perd le bateau.",
        "Donne-moi la carte, {b}. Tout de suite.",
        "Mon père a dessiné cette carte. Elle est fausse exprès.",
        "Écoute... tu entends les cloches ?",
        "♪ Chez soi, c'est là où la rivière ralentit ♪",
        "Je n'ai pas peur de toi, {a}.\nJ'ai peur d'avoir raison.",
        "Prends la lettre. Brûle-la quand tu l'auras lue.",
        "Personne ne quitte cette île un dimanche.",
        "Que t'a donné la vieille femme ?",
        "Une clé. Et une porte qui n'existe pas.",
    ),
    "de": (
        "Hast du das gehört, {a}?",
        "Ich habe nur den Wind gehört.",
        "Warum ist dann das Licht im Hafen aus?",
        "Weil es jemand gelöscht hat.\nUnd dieser Jemand ist noch hier.",
        "<i>{a}, bitte melden. Hörst du mich?</i>",
        "Wir hätten {b} alles sagen sollen.",
        "- Wo warst du gestern Nacht?\n- Wo ich immer bin.",
        "Du antwortest nie auf das, was ich frage.",
        "Neun Jahre. Und du stehst hier, also wäre nichts.",
        "[TÜR KNARRT]",
        "Wenn die Flut for sechs kippt, verlieren wir das Boot.",
        "Gib mir die Karte, {b}. Sofort.",
        "Mein Vater hat sie gezeichnet. Sie ist mit Absicht falsch.",
        "Hör doch... hörst du die Glocken?",
        "♪ Zuhause ist, wo der Fluss langsamer wird ♪",
        "Ich habe keine Angst for dir, {a}.\nIch habe Angst, recht zu haben.",
        "Nimm den Brief. Verbrenn ihn, wenn du ihn gelesen hast.",
        "Niemand verlässt diese Insel an einem Sonntag.",
        "Was hat dir die Alte gegeben?",
        "Einen Schlüssel. Und eine Tür, die es nicht gibt.",
    ),
    "pt-br": (
        "Você ouviu isso, {a}?",
        "Não ouvi nada além do vento.",
        "Então por que a luz do porto está apagada?",
        "Porque alguém apagou.\nE esse alguém ainda está aqui.",
        "<i>{a}, responda. Está me ouvindo?</i>",
        "Devíamos ter contado tudo para {b}.",
        "- Onde você estava ontem à noite?\n- Onde sempre estou.",
        "Você nunca responde o que eu pergunto.",
        "Nove anos. E você fica aí como se nada fosse.",
        "[PORTA RANGE]",
        "Se a maré virar antes das seis, perdemos o barco.",
        "Me dá o mapa, {b}. Agora.",
        "Menu pai desenhou esse mapa. Está errado de propósito.",
        "Escute... está ouvindo os sinos?",
        "♪ Lar é onde o rio se acalma ♪",
        "Eu não tenho medo de você, {a}.\nTenho medo de estar certo.",
        "Leve a carta. Queime depois de ler.",
        "Ninguém sai desta ilha num domingo.",
        "O que a velha te deu?",
        "Uma chave. E uma porta que não existe.",
    ),
}

LANGUAGES = tuple(_LINES)

_NAMES = (("Mara", "Odin"), ("Ilse", "Tomas"), ("Ruth", "Jonah"), ("Vera", "Amos"), ("Nora", "Emil"))


def srt(title: str, language: str, cues: int) -> bytes:
    """A subtitle file in UTF-8; same arguments, same bytes."""
    chance = random.Random(title)
    first, second = chance.choice(_NAMES)
    begins = chance.randint(8_000, 40_000)
    blocks = []
    for number in range(1, cues + 1):
        lines = _LINES[language]
        text = lines[chance.randrange(len(lines))].format(a=first, b=second)
        # As long as the English is read, so that all languages keep the same times.
        length = chance.randint(1_300, 4_200)
        blocks.append(f"{number}\n{_clock(begins)} --> {_clock(begins + length)}\n{text}\n")
        new_scene = chance.random() < 0.06
        begins += length + (chance.randint(4_000, 30_000) if new_scene else chance.randint(80, 4_500))
    return "\n".join(blocks).encode()


def _clock(milliseconds: int) -> str:
    seconds, rest = divmod(milliseconds, 1000)
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d},{rest:03d}"
