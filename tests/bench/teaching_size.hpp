#pragma once
/// What several benchmarks measure: an untrained decoder of the largest teaching size, and a text for it or for a published model.

#include <algorithm>
#include <string>
#include <vector>

#include "app/session/document/document.hpp"

namespace attn::app {

inline Document teaching_size() {
    Document document;
    document.config.architecture = Architecture::DecoderOnly;
    document.config.d_model = 128;
    document.config.num_heads = 4;
    document.config.num_layers = 4;
    document.config.d_ff = 512;
    document.config.lm_head = true;
    document.forward.masks.causal = true;
    return document;
}

inline std::string words(int count) {
    static constexpr const char* kWords[] = {"the", "cat", "sat", "on", "a", "mat", "and", "it", "was", "warm", "there"};
    std::string text;
    for (int i = 0; i < count; ++i) text += std::string(i > 0 ? " " : "") + kWords[i * 7 % 11];
    return text;
}

/// 0 if there are no values.
inline double percentile(std::vector<double> values, double part) {
    std::sort(values.begin(), values.end());
    return values.empty() ? 0 : values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

}  // namespace attn::app
