"""Writes word_splits.json: a byte-level vocabulary whose merges respect no word, and the ids that the tokenizers library gives hard texts
with the pre-tokenizers of published models, by the names that GGUF files have for them.

python make_word_splits.py ../hf/texts.json word_splits.json   (tokenizers 0.23.1)
"""

import json
import sys

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers as P, trainers

# The cased letters of Unicode 11, as deepseek-llm-7b-base lists them.
CASED = (
    "A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-\u0373\u0376\u0377\u037b-\u037d\u037f\u0386"
    "\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba"
    "\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d"
    "\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc"
    "\u2102\u2107\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184"
    "\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf\ufb00-\ufb06"
    "\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a\U00010400-\U0001044f\U000104b0-\U000104d3\U000104d8-\U000104fb\U00010c80-\U00010cb2"
    "\U00010cc0-\U00010cf2\U000118a0-\U000118df\U0001e900-\U0001e943"
)
CJK = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"
THREES = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
SEED_CODER = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+"


def split(*expressions, more=()):
    letters = P.ByteLevel(add_prefix_space=False, use_regex=False)
    return P.Sequence([P.Split(Regex(e), "isolated") for e in expressions] + [*more, letters])


DIGITS, GPT2 = P.Digits(individual_digits=True), P.ByteLevel(add_prefix_space=False)
SPLITS = {
    "deepseek-coder": split("[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", CJK, more=[DIGITS]),
    "deepseek-llm": split("[\r\n]", rf"\s?[{CASED}]+", "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+", r"\s+$", CJK, more=[DIGITS]),
    "falcon": P.Sequence([P.Punctuation("contiguous"), GPT2, P.Digits(individual_digits=False), P.Split(Regex("[0-9][0-9][0-9]"), "isolated")]),
    "falcon3": split(THREES),
    "minerva-7b": P.Sequence([DIGITS, GPT2]),
    "viking": split(BLOOM, more=[DIGITS]),
    "poro-chat gpt3-finnish": split(BLOOM),
    "seed-coder": split(SEED_CODER),
    "superbpe": split(r"\p{N}+", r"(?=(\d{3})+(?!\d))"),
    "mellum trillion a.x-4.0": GPT2,
}
HARD = [
    "1234567 12 x1234y 3.14159", "१२३४५ ½ Ⅷ ²³ ٣٤٥٦", "don't DON'T we'll", "漢字かな123 가나다 ひらがな", "a  b   c \n\n  d\r\n \t e  ", "!!! ?!... (a|b) [c], <d>=e_f",
    "‘quoted’ “text” – dash", "全角！？　。、ＡＢＣ", "µ ǅ ƻ ͵ Ωmega ὟὨ ῼ ℵ ℶ ℨ K ℮ Ⱡ", "ᏸᎠ ꭰ Ა ა ﬁ ﬓ 𐐀𐐨 𞤀𞤢", "العربية، والأرقام ١٢٣", "हिन्दी में। और, उर्दू۔", "กขค ១២៣ 🦊🦊 e\u0301e\u0301",
    "x = y**2; // done\nint main() {\n\treturn 0;\n}\n", "end.  ", "end.\n", " \u00a0\u3000 ",
]

texts = json.load(open(sys.argv[1], encoding="utf-8"))
corpus = (texts["corpus"] + texts["hard"] + HARD) * 2
trained = Tokenizer(models.BPE())
trained.pre_tokenizer = P.ByteLevel(add_prefix_space=False, use_regex=False)
trained.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=900, max_token_length=6, initial_alphabet=sorted(P.ByteLevel.alphabet()), show_progress=False))
model = json.loads(trained.to_str())["model"]
vocabulary = sorted(model["vocab"], key=model["vocab"].get)
merges = [" ".join(merge) for merge in model["merges"]]
cases = HARD + texts["hard"]
splits = []
for names, pre in SPLITS.items():
    tokenizer = Tokenizer(models.BPE(model["vocab"], [tuple(m) for m in model["merges"]], ignore_merges=names == "falcon3"))
    tokenizer.pre_tokenizer = pre
    splits.append({"names": names.split(), "ids": [tokenizer.encode(text).ids for text in cases]})
file = {"vocabulary": vocabulary, "merges": merges, "texts": cases, "splits": splits}
json.dump(file, open(sys.argv[2], "w", encoding="utf-8"), ensure_ascii=False, separators=(",", ":"))
