#!/usr/bin/env python3
"""Small tokenizers in the formats of SentencePiece and tiktoken, trained on our own texts, with what those libraries make of hard ones.

    make_cases.py --text ../hf/texts.json --out .

Needs sentencepiece (0.2.2 was used) and tiktoken (0.12). Training SentencePiece is repeatable bit for bit on one machine."""
import argparse
import base64
import io
import json
import os
import re

import sentencepiece
import tiktoken

# As in attnscope: engine/tokenizer/word_splits.hpp.
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
RULES = [("\ufb01", "fi"), ("\ufb02", "fl"), ("\ufb03", "ffi"), ("e\u0301", "\u00e9"), ("i\u0308", "\u00ef"), ("A\u030a", "\u00c5"),
         ("\u212b", "\u00c5"), ("\u00bd", "1\u20442"), ("\u2460", "1"), ("\u2026", "..."), ("\u00a0", " "), ("\u3000", " "), ("\t", " "),
         ("\n", " "), ("\u200b", ""), ("\uff01", "!"), ("\uff21", "A")]

SENTENCE_PIECE = {
    "unigram": dict(model_type="unigram", vocab_size=320, normalization_rule_name="identity"),
    "unigram_bytes": dict(model_type="unigram", vocab_size=600, byte_fallback=True, normalization_rule_name="rules",
                          user_defined_symbols=["<sep>", "softmax", "..."]),
    "bpe": dict(model_type="bpe", vocab_size=600, byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False,
                split_digits=True, user_defined_symbols=["<sep>", "th", "  "]),
    "bpe_suffix": dict(model_type="bpe", vocab_size=320, normalization_rule_name="rules", treat_whitespace_as_suffix=True),
    "bpe_bare": dict(model_type="bpe", vocab_size=320, normalization_rule_name="identity", add_dummy_prefix=False),
}


def write(folder, name, data):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)


def write_cases(folder, source, cases):
    lines = ",\n".join(json.dumps(case, ensure_ascii=True) for case in cases)
    write(folder, "tokens.json", ('{"made_by": "%s",\n"cases": [\n%s\n]}\n' % (source, lines)).encode())


def sentence_piece(out, name, options, texts):
    options = dict(options)
    if options["normalization_rule_name"] == "rules":
        del options["normalization_rule_name"]
        path = os.path.join(out, "rules.tsv")
        with open(path, "w", encoding="utf-8") as file:
            for old, new in RULES:
                file.write(" ".join("%X" % ord(c) for c in old) + "\t" + " ".join("%X" % ord(c) for c in new) + "\n")
        options["normalization_rule_tsv"] = path
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(texts["corpus"]), model_writer=model, num_threads=1,
                                             character_coverage=0.98, hard_vocab_limit=False, minloglevel=2, **options)
    if "normalization_rule_tsv" in options:
        os.remove(options["normalization_rule_tsv"])
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    cases = []
    for text in texts["hard"] + texts["prompts"] + texts["corpus"]:
        ids = processor.encode(text)
        cases.append({"text": text, "ids": ids, "decoded": processor.decode(ids)})
    folder = os.path.join(out, "sentencepiece_" + name)
    write(folder, "tokenizer.model", model.getvalue())
    write_cases(folder, "sentencepiece " + sentencepiece.__version__, cases)


def train_ranks(corpus, pattern, size):
    """Byte-pair encoding by counting, as tiktoken's own example has it."""
    import regex
    ranks = {bytes([b]): b for b in range(256)}
    words = [[bytes([b]) for b in word.encode()] for text in corpus for word in regex.findall(pattern, text)]
    while len(ranks) < size:
        counts = {}
        for word in words:
            for pair in zip(word, word[1:]):
                counts[pair] = counts.get(pair, 0) + 1
        best = max(counts, key=lambda pair: (counts[pair], pair))
        ranks[best[0] + best[1]] = len(ranks)
        for word in words:
            at = 0
            while at + 1 < len(word):
                if (word[at], word[at + 1]) == best:
                    word[at:at + 2] = [best[0] + best[1]]
                at += 1
    return ranks


def ranks(out, texts):
    table = train_ranks(texts["corpus"], LLAMA3, 420)
    encoding = tiktoken.Encoding("small", pat_str=LLAMA3, mergeable_ranks=table, special_tokens={})
    data = b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in sorted(table.items(), key=lambda item: item[1]))
    cases = []
    for text in texts["hard"] + texts["prompts"] + texts["corpus"]:
        text = text.encode("utf-8", "replace").decode()
        ids = encoding.encode_ordinary(text)
        cases.append({"text": text, "ids": ids, "decoded": encoding.decode(ids)})
    folder = os.path.join(out, "tiktoken")
    write(folder, "small.tiktoken", data)
    write_cases(folder, "tiktoken " + tiktoken.__version__, cases)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--text", required=True)
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    with open(arguments.text, encoding="utf-8") as file:
        texts = json.load(file)
    for key in texts:  # a lone surrogate is no text
        texts[key] = [text.encode("utf-8", "replace").decode() for text in texts[key]]
    for name, options in SENTENCE_PIECE.items():
        sentence_piece(arguments.out, name, options, texts)
    ranks(arguments.out, texts)


main()
