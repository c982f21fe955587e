"""What people say in films, in many languages, as it stands in files from the time before UTF-8.

Where a code page lacks a letter, the text has what people used in its place: Romanian with cedillas, Persian with the
Arabic yeh.
"""

from __future__ import annotations

import unicodedata

SAID = {
    "ar": """
        أين كنت طوال هذه السنوات؟
        لا أعرف ماذا أقول لك.
        يجب أن نرحل قبل أن يأتي الصباح.
        هل رأيت أخي في المدينة؟
        هذا ليس من شأنك، يا صديقي.
        سأعود إلى البيت بعد قليل.
        لم أكن أتوقع رؤيتك هنا.
        انتظر، هناك شخص خلف الباب!
    """,
    "bg": """
        Къде беше през всичките тези години?
        Не знам какво да ти кажа.
        Трябва да тръгнем преди изгрев слънце.
        Виждал ли си брат ми в града?
        Това не е твоя работа, приятелю.
        Ще се върна у дома след малко.
        Не очаквах да те видя тук.
        Чакай, има някой зад вратата!
    """,
    "cs": """
        Kde jsi byl celé ty roky?
        Nevím, co ti mám říct.
        Musíme vyrazit dřív, než vyjde slunce.
        Neviděl jsi ve městě mého bratra?
        Do toho ti nic není, příteli.
        Za chvíli se vrátím domů.
        Nečekal jsem, že tě tu uvidím.
        Počkej, někdo stojí za dveřmi!
    """,
    "de": """
        Wo warst du all die Jahre?
        Ich weiß nicht, was ich dir sagen soll.
        Wir müssen aufbrechen, bevor die Sonne aufgeht.
        Hast du meinen Bruder in der Stadt gesehen?
        Das geht dich nichts an, mein Freund.
        Ich komme später zurück, über die Brücke.
        Ich hätte nie gedacht, dich hier zu treffen.
        Warte, jemand steht hinter der Tür!
    """,
    "el": """
        Πού ήσουν όλα αυτά τα χρόνια;
        Δεν ξέρω τι να σου πω.
        Πρέπει να φύγουμε πριν ξημερώσει.
        Μήπως είδες τον αδερφό μου στην πόλη;
        Αυτό δεν σε αφορά, φίλε μου.
        Θα γυρίσω σπίτι σε λίγο.
        Δεν περίμενα να σε δω εδώ.
        Περίμενε, κάποιος είναι πίσω από την πόρτα!
    """,
    "es": """
        ¿Dónde has estado todos estos años?
        No sé qué decirte, la verdad.
        Tenemos que irnos antes de que amanezca.
        ¿Has visto a mi hermano en la ciudad?
        Eso no es asunto tuyo, señor.
        Volveré a casa mañana por la mañana.
        No esperaba verte aquí, después de tanto tiempo.
        ¡Espera, hay alguien detrás de la puerta!
    """,
    "et": """
        Kus sa kõik need aastad olid?
        Ma ei tea, mida sulle öelda.
        Me peame lahkuma enne päikesetõusu.
        Kas sa nägid mu venda linnas?
        See ei ole sinu asi, mu sõber.
        Ma tulen varsti koju tagasi.
        Ma ei oodanud, et sind siin näen.
        Oota, keegi seisab ukse taga!
    """,
    "fa": """
        اين همه سال کجا بودي؟
        نمي‌دانم به تو چه بگويم.
        بايد پيش از طلوع آفتاب برويم.
        برادرم را در شهر نديدي؟
        اين به تو ربطي ندارد، رفيق.
        چند دقيقه ديگر به خانه برمي‌گردم.
        انتظار نداشتم تو را اينجا ببينم.
        صبر کن، يک نفر پشت در است!
    """,
    "fr": """
        Où étais-tu pendant toutes ces années ?
        Je ne sais pas quoi te dire, c'est compliqué.
        Nous devons partir avant le lever du soleil.
        As-tu vu mon frère à la fête hier soir ?
        Ça ne te regarde pas, mon cœur.
        Je reviendrai à la maison très bientôt.
        Je ne m'attendais pas à te voir là-bas.
        Arrête, il y a quelqu'un derrière la fenêtre !
    """,
    "he": """
        איפה היית כל השנים האלה?
        אני לא יודע מה להגיד לך.
        אנחנו חייבים לצאת לפני הזריחה.
        ראית את אחי בעיר?
        זה לא עניינך, חבר.
        אני אחזור הביתה עוד מעט.
        לא ציפיתי לראות אותך כאן.
        חכה, מישהו עומד מאחורי הדלת!
    """,
    "hr": """
        Gdje si bio sve ove godine?
        Ne znam što da ti kažem.
        Moramo krenuti prije nego što svane.
        Jesi li vidio mog brata u gradu?
        To se tebe ne tiče, prijatelju.
        Vratit ću se kući za koji čas.
        Nisam očekivao da ću te ovdje vidjeti.
        Čekaj, netko stoji iza vrata!
    """,
    "hu": """
        Hol voltál ezekben az években?
        Nem tudom, mit mondjak neked.
        El kell indulnunk, mielőtt felkel a nap.
        Láttad a bátyámat a városban?
        Ehhez semmi közöd, barátom.
        Hamarosan visszajövök, ígérem.
        Nem számítottam rá, hogy itt látlak.
        Várj, valaki áll az ajtó mögött! Őrült ez a fű.
    """,
    "ja": """
        今までどこにいたんだ？
        何と言えばいいのか分からない。
        日が昇る前に出発しなければならない。
        町で私の兄を見ましたか？
        君には関係のないことだよ。
        すぐに家に帰るから待っていて。
        ここで会えるとは思わなかった。
        ドアの後ろに誰かいるぞ！
    """,
    "ko": """
        그동안 어디에 있었어요?
        당신에게 무슨 말을 해야 할지 모르겠어요.
        해가 뜨기 전에 떠나야 합니다.
        시내에서 우리 형을 봤어요?
        그건 네가 알 바 아니야, 친구.
        잠시 후에 집으로 돌아갈게요.
        여기서 만날 줄은 몰랐어요.
        잠깐만, 문 뒤에 누가 있어!
    """,
    "lt": """
        Kur tu buvai visus šiuos metus?
        Nežinau, ką tau pasakyti.
        Turime išvykti prieš saulėtekį.
        Ar matei mano brolį mieste?
        Tai ne tavo reikalas, bičiuli.
        Netrukus grįšiu namo, pažadu.
        Nesitikėjau tavęs čia išvysti.
        Palauk, kažkas stovi už durų!
    """,
    "lv": """
        Kur tu biji visus šos gadus?
        Es nezinu, ko lai tev saka.
        Mums jādodas ceļā pirms saullēkta.
        Vai tu redzēji manu brāli pilsētā?
        Tā nav tava darīšana, draugs.
        Es drīz atgriezīšos mājās.
        Nebiju gaidījis tevi šeit sastapt.
        Pagaidi, kāds stāv aiz durvīm!
    """,
    "pl": """
        Gdzie byłeś przez te wszystkie lata?
        Nie wiem, co ci powiedzieć.
        Musimy wyruszyć, zanim wzejdzie słońce.
        Czy widziałeś mojego brata w mieście?
        To nie twoja sprawa, przyjacielu.
        Za chwilę wrócę do domu, obiecuję.
        Nie spodziewałem się ciebie tutaj.
        Zaczekaj, ktoś stoi za drzwiami! Źle się czuję.
    """,
    "pt": """
        Onde você esteve todos esses anos?
        Não sei o que dizer, é complicado.
        Precisamos partir antes do amanhecer.
        Você viu o meu irmão na estação?
        Isso não é da sua conta, João.
        Voltarei para casa amanhã de manhã.
        Não esperava te encontrar aqui, irmã.
        Espere, há alguém atrás da porta! Atenção!
    """,
    "ro": """
        Unde ai fost în toţi aceşti ani?
        Nu ştiu ce să-ţi spun.
        Trebuie să plecăm înainte de răsărit.
        L-ai văzut pe fratele meu în oraş?
        Nu este treaba ta, prietene.
        Mă întorc acasă în câteva clipe.
        Nu mă aşteptam să te văd aici.
        Aşteaptă, e cineva după uşă!
    """,
    "ru": """
        Где ты был все эти годы?
        Я не знаю, что тебе сказать.
        Мы должны уехать до восхода солнца.
        Ты видел моего брата в городе?
        Это не твоё дело, приятель.
        Я скоро вернусь домой.
        Не ожидал тебя здесь увидеть.
        Подожди, за дверью кто-то есть!
    """,
    "sr": """
        Где си био све ове године?
        Не знам шта да ти кажем.
        Морамо да кренемо пре него што сване.
        Јеси ли видео мог брата у граду?
        То се тебе не тиче, пријатељу.
        Вратићу се кући за који час.
        Нисам очекивао да ћу те овде видети.
        Чекај, неко стоји иза врата! Џабе љутња.
    """,
    "sr-Latn": """
        Gde si bio sve ove godine?
        Ne znam šta da ti kažem.
        Moramo da krenemo pre nego što svane.
        Jesi li video mog brata u gradu?
        To se tebe ne tiče, prijatelju.
        Vratiću se kući za koji čas.
        Nisam očekivao da ću te ovde videti.
        Čekaj, neko stoji iza vrata! Džabe ljutnja.
    """,
    "th": """
        หลายปีมานี้คุณไปอยู่ที่ไหนมา
        ฉันไม่รู้จะพูดอะไรกับคุณดี
        เราต้องออกเดินทางก่อนพระอาทิตย์ขึ้น
        คุณเห็นพี่ชายของฉันในเมืองไหม
        นั่นไม่ใช่เรื่องของนาย เพื่อน
        อีกเดี๋ยวฉันจะกลับบ้าน
        ไม่คิดเลยว่าจะเจอคุณที่นี่
        เดี๋ยวก่อน มีคนอยู่หลังประตู
    """,
    "tr": """
        Bunca yıldır neredeydin?
        Sana ne söyleyeceğimi bilmiyorum.
        Güneş doğmadan önce yola çıkmalıyız.
        Şehirde kardeşimi gördün mü?
        Bu seni ilgilendirmez, dostum.
        Birazdan eve döneceğim, söz veriyorum.
        Seni burada görmeyi beklemiyordum.
        Bekle, kapının arkasında biri var! İşte şimdi.
    """,
    "uk": """
        Де ти був усі ці роки?
        Я не знаю, що тобі сказати.
        Ми мусимо вирушити до сходу сонця.
        Ти бачив мого брата в місті?
        Це не твоя справа, друже.
        Я скоро повернуся додому, обіцяю.
        Не чекав тебе тут побачити, її теж.
        Зачекай, за дверима хтось є! Ґанок порожній.
    """,
    "vi": """
        Bao nhiêu năm nay anh đã ở đâu?
        Tôi không biết phải nói gì với em.
        Chúng ta phải lên đường trước khi mặt trời mọc.
        Anh có thấy anh trai tôi trong thành phố không?
        Đó không phải là việc của cậu, bạn ạ.
        Lát nữa tôi sẽ trở về nhà.
        Tôi không ngờ lại gặp cô ở đây.
        Khoan đã, có người đứng sau cánh cửa!
    """,
    "zh-Hans": """
        这么多年你到底去了哪里？
        我不知道该对你说什么。
        我们必须在太阳升起之前出发。
        你在城里看见我哥哥了吗？
        这不关你的事，朋友。
        我过一会儿就回家。
        没想到会在这里见到你。
        等等，门后面有人！
    """,
    "zh-Hant": """
        這麼多年你到底去了哪裡？
        我不知道該對你說什麼。
        我們必須在太陽升起之前出發。
        你在城裡看見我哥哥了嗎？
        這不關你的事，朋友。
        我過一會兒就回家。
        沒想到會在這裡見到你。
        等等，門後面有人！
    """,
}

FILES = (
    ("ar", "ar", "cp1256"),
    ("bg", "bg", "cp1251"),
    ("cs", "cs", "cp1250"),
    ("de", "de", "cp1252"),
    ("el", "el", "cp1253"),
    ("es", "es", "cp1252"),
    ("et", "et", "cp1257"),
    ("fa", "fa", "cp1256"),
    ("fr", "fr", "cp1252"),
    ("he", "he", "cp1255"),
    ("he", "he", "iso8859_8"),
    ("hr", "hr", "cp1250"),
    ("hu", "hu", "cp1250"),
    ("ja", "ja", "cp932"),
    ("ja", "ja", "euc_jp"),
    ("ko", "ko", "cp949"),
    ("lt", "lt", "cp1257"),
    ("lv", "lv", "cp1257"),
    ("pl", "pl", "cp1250"),
    ("pt", "pt-BR", "cp1252"),
    ("ro", "ro", "cp1250"),
    ("ru", "ru", "cp1251"),
    ("sr", "sr", "cp1251"),
    ("sr-Latn", "sr", "cp1250"),
    ("sr-Latn", "sr-Latn", "cp1250"),
    ("th", "th", "cp874"),
    ("tr", "tr", "cp1254"),
    ("uk", "uk", "cp1251"),
    ("vi", "vi", "cp1258"),
    ("zh-Hans", "zh-Hans", "gb18030"),
    ("zh-Hans", "zh", "gb18030"),
    ("zh-Hant", "zh-Hant", "big5"),
    ("zh-Hant", "zh", "big5"),
)
"""Whose text, the language that is wanted, the encoding of the file."""


def subtitle(text: str, cues: int) -> str:
    """A SubRip file of so many cues, with tags and the line ends of Windows."""
    lines = [line.strip() for line in SAID[text].strip().split("\n")]
    rows = []
    for number in range(cues):
        line = lines[number % len(lines)]
        said = f"<i>{line}</i>" if number % 7 == 3 else f"- {line}\r\n- {lines[(number + 3) % len(lines)]}"
        said = line if number % 3 == 0 else said
        rows.append(f"{number + 1}\r\n{_time(number * 4)} --> {_time(number * 4 + 3)}\r\n{said}\r\n\r\n")
    return "".join(rows)


def _time(second: int) -> str:
    return f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d},000"


def encoded(text: str, encoding: str) -> bytes:
    if encoding != "cp1258":
        return text.encode(encoding)
    return b"".join(_vietnamese(sign) for sign in text)


def _vietnamese(sign: str) -> bytes:
    """Code page 1258 has each vowel with its hook or roof, and the five tones apart."""
    try:
        return sign.encode("cp1258")
    except UnicodeEncodeError:
        parts = unicodedata.normalize("NFD", sign)
        letter, marks = parts[0], parts[1:]
        tone = next(mark for mark in marks if mark in "\u0300\u0301\u0303\u0309\u0323")
        rest = "".join(mark for mark in marks if mark != tone)
        return (unicodedata.normalize("NFC", letter + rest) + tone).encode("cp1258")
