"""Writes own_bpe.json: a text, the vocabulary that the tokenizers library trains on it, and the text's ids.

python make_own_bpe.py TEXT.txt own_bpe.json   (tokenizers 0.23.1)
"""

import json
import sys

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

text = open(sys.argv[1], encoding="utf-8").read()
tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.train_from_iterator(
    [text],
    trainers.BpeTrainer(
        vocab_size=512, min_frequency=2, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    ),
)
vocabulary = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)
ids = tokenizer.encode(text).ids
json.dump({"text": text, "vocabulary": vocabulary, "ids": ids}, open(sys.argv[2], "w"), ensure_ascii=False)
