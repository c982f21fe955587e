"""Tells languages of one script apart by the small words that every sentence needs.

It is asked one question: is this clearly another language than the one wanted? Near relatives share their small words,
so that Danish is never refused as Norwegian.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from .languages import primary

_FEWEST_WORDS = 100

_WORDS = {
    language: frozenset(words.split())
    for language, words in {
        "bg": "и на да не се е за от това ще ли си ме ти го как какво той има тук със му аз",
        "ca": "el la els les que de i no és per amb una del ho això però més molt què aquest",
        "cs": "je to se na že jsem co ale jak já ty jsi tak ho mi si být jsme když už není",
        "da": "det er jeg du ikke en at på han vi har og til med så den der hvad af mig kan",
        "de": "ich ist nicht das du die und der es wir sie was ein zu mir mit ja wie den auf",
        "el": "και να το είναι δεν θα του με για σε που τι αυτό μου σου τον την από έχω ναι",
        "en": "the you i to and it of that is what we me this not are he your for on be",
        "es": "que de no la el y es en lo un por qué me una te los con para está se",
        "et": "ja on ei see ma et sa mis kui ta oli aga me seda mida siis olen nii oma kas",
        "fi": "on ei se ja että minä olen hän mitä en sinä niin ole mutta oli tämä kun nyt jos",
        "fr": "je de est pas le que vous la tu et les un ce il une en ça à des on",
        "hr": "je da to se sam ne što na si nije za ali kako ti mi bi kao ovo samo smo",
        "hu": "a nem az hogy és egy van meg ez de csak mi is ha itt már kell ezt jól vagy",
        "id": "aku kau yang tidak ini itu dan di kita apa akan dia untuk ada dengan ke kamu dari",
        "it": "che di non è la il e un per mi sono ti lo ho una ma in si cosa con",
        "lt": "ir tai kad ne aš tu kaip į jis yra su bet man ką iš mes čia jei jūs tik",
        "lv": "ir un es tas ka nav tu man to kas ar par vai mēs viņš bet kā tev jūs šeit",
        "mk": "и да не на се е што за го ќе тоа ти ме со од како јас има си сум",
        "nl": "ik je het de is een dat niet en van wat te we hij er ben zijn op voor heb",
        "no": "det er jeg du ikke en å på han vi har og til med så den som hva av meg",
        "pl": "nie to się na co jest że jak do ja mi ale tak czy jestem tu po go już za",
        "pt": "que o não de a e é um eu para se uma você do em isso com os está por",
        "ro": "nu să de și este ce o în la un cu am pe că mai e se te din ai",
        "ru": "и не что в я на ты это с как мы он но все меня так у вы же мне",
        "sk": "je to sa na že som čo ale ako ja ty si tak ho mi byť sme keď už nie",
        "sl": "je in ne da se sem to si na za kaj ni pa bi če mi tako kot smo ti",
        "sq": "të në nuk është një dhe për me që do e i se ka më unë ti po ju kjo",
        "sr": "и да је не се то сам за шта што на си није али како ти ми бих као само",
        "sv": "det är jag du inte en att på han vi har och till med så den som vad av mig",
        "tr": "bir bu ne ve için ben sen çok mi da o var değil evet daha ama gibi mı beni kadar",
        "uk": "і не що в я на ти це з як ми він але все мене так у ви до мені",
        "vi": "không tôi anh là có và em của một người cô ấy đi ta cho này đó gì được chúng",
    }.items()
}
# Written in two scripts, or under several names.
_WORDS["sr"] |= _WORDS["hr"]
_WORDS |= {"bs": _WORDS["sr"], "ms": _WORDS["id"], "nb": _WORDS["no"]}
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Guess:
    language: str
    confidence: float
    """0.5 for a toss between it and the wanted language, 1 if nothing speaks for the wanted one."""


def likely_language(text: str, wanted: str) -> Guess | None:
    """The language that a text is rather in than in the wanted one; None where that cannot be said."""
    words = Counter(word.lower() for word in _WORD.findall(text))
    mine = _WORDS.get(primary(wanted))
    if mine is None or words.total() < _FEWEST_WORDS:
        return None
    hits = {language: sum(words[word] for word in known) for language, known in _WORDS.items()}
    best = max(hits, key=lambda language: hits[language])
    # Without small words it is no text: names, songs, a language that is not listed.
    if hits[best] <= hits[primary(wanted)] or hits[best] < words.total() * 0.15:
        return None
    # Words that both have speak for neither.
    common = sum(words[word] for word in mine & _WORDS[best])
    own, other = hits[primary(wanted)] - common, hits[best] - common
    return Guess(best, other / (own + other)) if own + other > 0 and common < other else None
