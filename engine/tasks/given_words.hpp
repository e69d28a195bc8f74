#pragma once
/// Sequences of a task for a model that has words already, because it is trained further.

#include <memory>
#include <span>
#include <string>

#include "engine/tasks/sequence_source.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace attn {

/// The words of a model by their ids; "" where an id has no text. A model that has none at all is spoken to in ids.
using GivenWords = std::span<const std::string>;

/// Reads these words, which are all single characters or all whole words; of a model without words, ids such as "3 1 4". Words in brackets,
/// such as "<eos>", are in no text. Throws ConfigError if the words are of other kinds.
/// `first`: the kind that is tried first.
Tokenizer tokenizer_of(GivenWords words, TokenizerKind first = TokenizerKind::Character);

/// The source's sequences with the ids that their symbols have among the words; of a model without words, the symbols take the first ids.
/// Throws ConfigError naming a symbol that is none of the words.
std::unique_ptr<const SequenceSource> in_words(std::unique_ptr<const SequenceSource> source, GivenWords words);

}  // namespace attn
