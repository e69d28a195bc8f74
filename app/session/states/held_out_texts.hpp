#pragma once
/// A few held-out sequences of a training run, the same all along.

#include <cstddef>
#include <string>
#include <vector>

#include "engine/tasks/dataset.hpp"

namespace attn::app {

struct HeldOutTexts {
    Batch batch;
    std::vector<std::string> vocabulary;  ///< text of every id
    std::size_t known = 0;                ///< the ids from here on are places for new words, which no sequence has
    bool fills_in = false;                ///< hidden tokens are asked for in their own place, others at the one before
};

HeldOutTexts held_out_texts(const Dataset& dataset, TaskKind task, Batch sequences);

}  // namespace attn::app
