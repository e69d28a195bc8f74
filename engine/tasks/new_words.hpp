#pragma once
/// Stories with words that are in no list: each is read as the place that it takes in its text, so that a model learns to follow a word
/// that it has never met.

#include <cstdint>
#include <vector>

#include "engine/grammar/draws.hpp"
#include "engine/tasks/task_settings.hpp"

namespace attn {

/// Puts places, whose ids follow those of the vocabulary of stories(), where words of a story stand: in a share of the stories, every word
/// with its chance, everywhere in the story. The places are taken in turn from a random one on; when none is left, words stay.
/// `introduced`: [words], 1 where a place stands for the first time. Draws nothing if there are no places.
void bring_in_new_words(const NewWords& settings, Draws& draws, std::vector<std::int32_t>& story, std::vector<std::uint8_t>& introduced);

}  // namespace attn
