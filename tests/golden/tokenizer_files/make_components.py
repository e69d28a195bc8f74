#!/usr/bin/env python3
"""Every component of tokenizer.json by itself, with what the tokenizers library (0.23.1 was used) makes of hard texts.

    make_components.py --text ../hf/texts.json --out components.json [--every 3] [--random SEED]

A normalizer is followed by a model that gives every byte a token, <0x00> to <0xFF>, whose id is the byte; a pre-tokenizer by a model for
which every word is unknown, so that the ranges are the words. A decoder gets a list of tokens."""
import argparse
import json
import random

import tokenizers

CONTRACTION = r"(?i:'s|'t)|\p{L}+|\p{N}{2}|[^\s]"
NORMALIZERS = [
    {"type": "NFC"}, {"type": "NFD"}, {"type": "NFKC"}, {"type": "NFKD"}, {"type": "Lowercase"}, {"type": "StripAccents"}, {"type": "Nmt"},
    {"type": "ByteLevel"}, {"type": "Strip", "strip_left": True, "strip_right": False}, {"type": "Strip", "strip_left": False, "strip_right": True},
    {"type": "Strip", "strip_left": True, "strip_right": True}, {"type": "Prepend", "prepend": "__"},
    {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}, {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "},
    {"type": "Replace", "pattern": {"Regex": r"\p{N}"}, "content": ""}, {"type": "Replace", "pattern": {"Regex": r"(?=(\d{3})+(?!\d))|^|$"}, "content": "|"},
    {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
    {"type": "BertNormalizer", "clean_text": False, "handle_chinese_chars": False, "strip_accents": True, "lowercase": False},
    {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"}]},
    {"type": "Sequence", "normalizers": [{"type": "Strip", "strip_left": True, "strip_right": True}, {"type": "NFC"}, {"type": "Prepend", "prepend": " "}]},
]
PRE_TOKENIZERS = [
    {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": False},
    {"type": "Whitespace"}, {"type": "WhitespaceSplit"}, {"type": "BertPreTokenizer"}, {"type": "UnicodeScripts"},
    {"type": "Digits", "individual_digits": False}, {"type": "Digits", "individual_digits": True},
    {"type": "CharDelimiterSplit", "delimiter": "e"}, {"type": "FixedLength", "length": 3},
    {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True},
    {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": True},
    {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "never", "split": True},
    {"type": "Metaspace", "replacement": "_", "prepend_scheme": "always", "split": False},
] + [{"type": "Punctuation", "behavior": b} for b in ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")] + [
    {"type": "Split", "pattern": {"Regex": CONTRACTION}, "behavior": b, "invert": i}
    for b in ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous") for i in (False, True)] + [
    {"type": "Split", "pattern": {"Regex": r"(?=(\d{3})+(?!\d))"}, "behavior": "Isolated", "invert": False},
    {"type": "Split", "pattern": {"Regex": r"\b"}, "behavior": "Removed", "invert": False},
    {"type": "Split", "pattern": {"Regex": r"a*"}, "behavior": "MergedWithPrevious", "invert": False},
    {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithNext", "invert": False},
    {"type": "Sequence", "pretokenizers": [{"type": "UnicodeScripts"}, {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": True}]},
    {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "Punctuation", "behavior": "Isolated"}, {"type": "Digits", "individual_digits": True}]},
]
DECODERS = [
    {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}, {"type": "WordPiece", "prefix": "##", "cleanup": True},
    {"type": "WordPiece", "prefix": "##", "cleanup": False}, {"type": "BPEDecoder", "suffix": "</w>"}, {"type": "ByteFallback"}, {"type": "Fuse"},
    {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True},
    {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "never", "split": True},
    {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True}, {"type": "Strip", "content": "\u2581", "start": 1, "stop": 0},
    {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "Replace", "pattern": {"Regex": "[ao]"}, "content": ""}, {"type": "Replace", "pattern": {"Regex": "a|$"}, "content": "_"},
    {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
                                      {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
]
TOKEN_LISTS = [["\u2581the", "\u2581c", "at", "."], ["the", "##se", "do", "n't", "'s", ",", "ok", "!"], ["\u0120the", "c\u0120", "\u00c3", "\u00a9", "\u00c3"],
               ["<0xE6>", "<0xBC>", "<0xA2>", "a", "<0xE6>", "<0x41>", "<0xFF>", "b"], ["h</w>", "e", "llo</w>", "l</w>"], [],
               ["<pad>", "h", "h", "e", "<pad>", "l", "l", "<pad>", "l", "o", "|", "|", "x"], ["\u2581\u2581a\u2581\u2581", "\u2581", " b "],
               ["do", "not", "I", "'m", "we", "'", "ve", ";"]]
ALPHABET = list("aB \t\n'.,!-_19e") + ["\u00e9", "e\u0301", "\u0323", "\u00a0", "\u3000", "\u200b", "\u6f22", "\u5b57", "\u304b", "\u30fc", "\u30ab", "\ud55c",
            "\u1112\u1161", "\u0660", "\u00bd", "\u2167", "\ufb01", "\u0130", "\u00df", "\U0001f98a", "\u0421", "\u03a9", "\u0e01", "\u0627", "\u2581", "\ufffd", "\x00",
            "\u2026", "\u00a1", "\ufeff", "\u00ad", "\U00020000", "\u2460", "\u212b", "\u0391\u0345", "\u03a3", "\u0378"]
# Characters that the library's tables do not have yet, or have in another class than newer ones, each between others.
LATER = ["a" + "b".join("\u2e4e\u2e52\u166d\U000111c9\u1b7d\U00011660"), "a" + "\u0430".join("\U0001f972\U0001f90c\u20bf\u9fef\u1c90\ua7b8\u0589\u061c\u0953"),
         "e" + "e".join("\u1abf\ua82c\U00010d24\u08e2\U000110cd\u1734\u1cf2\u08d3")]


def tokenizer(model, **parts):
    whole = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": None,
             "post_processor": None, "decoder": None, "model": model}
    whole.update(parts)
    return tokenizers.Tokenizer.from_str(json.dumps(whole))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--text", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--every", type=int, default=1, help="of the texts only each of so many")
    parser.add_argument("--random", type=int, help="random texts in their place")
    arguments = parser.parse_args()
    with open(arguments.text, encoding="utf-8") as file:
        texts = [text.encode("utf-8", "replace").decode() for text in json.load(file)["hard"]][arguments.every - 1::arguments.every]
    if arguments.random is not None:
        draw = random.Random(arguments.random)
        texts = ["".join(draw.choice(ALPHABET) for _ in range(draw.randint(0, 14))) for _ in range(400)]
    texts += LATER
    by_byte = {"type": "BPE", "vocab": {"<0x%02X>" % b: b for b in range(256)}, "merges": [], "byte_fallback": True}
    by_word = {"type": "WordLevel", "vocab": {"?": 0}, "unk_token": "?"}
    lines = []
    for kind, components, model in (("normalizer", NORMALIZERS, by_byte), ("pre_tokenizer", PRE_TOKENIZERS, by_word)):
        for component in components:
            made = tokenizer(model, **{kind: component})
            cases = []
            for text in texts:
                encoding = made.encode(text)
                case = {"text": text, "ranges": [number for pair in encoding.offsets for number in pair]}
                if kind == "normalizer":
                    case["normalized"] = bytes(encoding.ids).decode()
                cases.append(case)
            lines.append(json.dumps({kind: component, "cases": cases}, ensure_ascii=True))
    vocabulary = {token: i for i, token in enumerate(sorted({token for tokens in TOKEN_LISTS for token in tokens}))}
    for component in DECODERS:
        made = tokenizer({"type": "WordLevel", "vocab": dict(vocabulary, **{"?": len(vocabulary)}), "unk_token": "?"}, decoder=component)
        cases = [{"tokens": tokens, "decoded": made.decode([vocabulary[token] for token in tokens])} for tokens in TOKEN_LISTS]
        lines.append(json.dumps({"decoder": component, "cases": cases}, ensure_ascii=True))
    with open(arguments.out, "w", encoding="utf-8") as file:
        file.write('{"made_by": "tokenizers %s", "components": [\n%s\n]}\n' % (tokenizers.__version__, ",\n".join(lines)))


main()
