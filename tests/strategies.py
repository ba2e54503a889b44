"""Random inputs shared by the tests."""

from __future__ import annotations

from hypothesis import strategies as st

# Characters on which tokenisers trip: markup, apostrophes, numbers, marks, scripts without spaces, emoji, surrogates.
TRICKY = [
    *"aZéßıİΣσςЖя中文かカกำअकि한글ʼ’'`\"",
    *"0123٣๑².,-_!?！？¿<>/&;:=\t\n\r\x00\x85\u2028\u2029\u00a0\u200b\u00ad\ufeff\ufffd",
    *"\u0301\u0307\u0327\u200c\u200d\ufe0f\u20e3\u1161\u11a8\u1100\u0344\u0958\u212a\u212b\u2139\u24c2\ufb01Ⱥ",
    *"😀👍❤☺★©™",
    "👍🏽",
    "👨‍👩‍👧",
    "🇩🇪",
    "🏴\U000e0067\U000e0062\U000e007f",
    "\ud800",
    "𝔘",
    "𠀀",
    "<br />",
    "</p>",
    "<a href='x>y'>",
    "don't",
    "rock’n’roll",
    "4.5",
    "1,000.00",
    "7/10",
    "e\u0301",
    " ",
    " ",
    " ",
]

tricky_text = st.lists(st.sampled_from(TRICKY), max_size=30).map("".join)
plain_text = st.text(alphabet="abcdefgXYZ0123456789 .,'!?<>/", max_size=60)
any_text = st.one_of(tricky_text, plain_text, st.text(max_size=40))
