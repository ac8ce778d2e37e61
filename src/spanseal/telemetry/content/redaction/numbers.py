"""Is a row of digits a card number, a text a bank account? By check digits and by who may issue it. Pure.

Sources: ISO/IEC 7812-1 (card numbers, Luhn check digit), ISO 13616 (IBAN; length per country, remainder 97).
"""

from __future__ import annotations

import re
from typing import Final

_ISSUERS: Final = re.compile(
    r"4(?:[0-9]{12}|[0-9]{15}|[0-9]{18})"
    r"|5[1-5][0-9]{14}"
    r"|2(?:22[1-9]|2[3-9][0-9]|[3-6][0-9]{2}|7[01][0-9]|720)[0-9]{12}"
    r"|220[0-4][0-9]{12,15}"
    r"|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[689][0-9])[0-9]{11,16}"
    r"|35(?:2[89]|[3-8][0-9])[0-9]{12,15}"
    r"|(?:6011|64[4-9][0-9]|65[0-9]{2})[0-9]{12,15}"
    r"|62[0-9]{14,17}"
    r"|(?:5018|5020|5038|5893|6304|6759|676[1-3])[0-9]{9,15}"
    r"|(?:508[0-9]|60[0-9]{2}|8[12][0-9]{2})[0-9]{12}"
)
_DOUBLED: Final = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)

_COUNTRIES: Final = (
    "15:NO 16:BE 18:DK,FO,FI,GL,NL,SD,FK 19:MK,SI 20:AT,BA,EE,KZ,XK,LT,LU,MN 21:CR,HR,LV,LI,CH "
    "22:BH,BG,GE,DE,IE,ME,RS,GB,VA 23:GI,IL,AE,TL,IQ,OM,SO 24:AD,CZ,MD,PK,RO,SA,SK,ES,SE,TN,VG 25:PT,ST,LY 26:IS,TR "
    "27:FR,GR,IT,MC,MR,SM,BI,DJ 28:AL,AZ,BY,CY,DO,GT,HU,LB,PL,SV,NI 29:BR,EG,PS,QA,UA 30:JO,KW,MU,YE 31:MT,SC 32:LC "
    "33:RU"
)
_LENGTHS: Final = {
    country: int(item[:2]) for item in _COUNTRIES.split() for country in item[3:].split(",")
}


def is_card(digits: str) -> bool:
    """Whether 13 to 19 digits are a card number: an issuer's prefix and length, and the Luhn check digit.

    >>> is_card("4111111111111111"), is_card("4111111111111112"), is_card("1234567812345670")
    (True, False, False)
    """
    if not 13 <= len(digits) <= 19 or _ISSUERS.fullmatch(digits) is None:
        return False
    total = sum(int(digit) for digit in digits[-1::-2]) + sum(_DOUBLED[int(digit)] for digit in digits[-2::-2])
    return total % 10 == 0


def account_length(text: str) -> int:
    """How many characters of ``text``, separators included, are the IBAN that it begins with; 0 if it begins with none.

    >>> account_length("DE89 3704 0044 0532 0130 00 AND"), account_length("DE88370400440532013000")
    (27, 0)
    """
    wanted = _LENGTHS.get(text[:2].upper(), 0)
    signs = [(place, sign) for place, sign in enumerate(text) if sign.isalnum()][:wanted]
    if not wanted or len(signs) < wanted:
        return 0
    end = signs[-1][0] + 1
    if end < len(text) and text[end].isalnum():
        return 0
    number = "".join(sign for _, sign in signs).upper()
    return end if int("".join(str(int(sign, 36)) for sign in number[4:] + number[:4])) % 97 == 1 else 0
