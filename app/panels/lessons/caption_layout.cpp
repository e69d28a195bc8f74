#include "app/panels/lessons/caption_layout.hpp"

#include <algorithm>

namespace attn::app {
namespace {

/// Runs without a line break between them.
using Word = std::vector<PlacedRun>;

float width_of(const Word& word) {
    float width = 0;
    for (const PlacedRun& run : word) width += run.width;
    return width;
}

std::vector<Word> words_of(std::span<const CaptionRun> runs, const CaptionMeasures& measures) {
    std::vector<Word> words(1);
    const auto next_word = [&] {
        if (!words.back().empty()) words.emplace_back();
    };
    for (const CaptionRun& run : runs) {
        if (run.part) {
            const float width = measures.text_width(run.text) + (run.cell ? 2 * measures.padding : 0);
            words.back().push_back({run.text, run.part, run.cell, 0, width, 0});
            continue;
        }
        for (std::size_t at = 0; at < run.text.size();) {
            if (run.text[at] == ' ') {
                next_word();
                ++at;
                continue;
            }
            const std::size_t end = std::min(run.text.find(' ', at), run.text.size());
            std::string text = run.text.substr(at, end - at);
            const float width = measures.text_width(text);
            words.back().push_back({std::move(text), std::nullopt, false, 0, width, 0});
            at = end;
        }
    }
    if (words.back().empty()) words.pop_back();
    return words;
}

}  // namespace

std::vector<PlacedRun> lay_out_caption(std::span<const CaptionRun> runs, const CaptionMeasures& measures) {
    std::vector<PlacedRun> placed;
    float x = 0;
    std::size_t line = 0;
    for (const Word& word : words_of(runs, measures)) {
        const float width = width_of(word);
        if (x > 0 && x + measures.space + width > measures.width) {
            x = 0;
            ++line;
        } else if (x > 0) {
            x += measures.space;
        }
        for (PlacedRun run : word) {
            run.x = x;
            run.line = line;
            x += run.width;
            placed.push_back(std::move(run));
        }
    }
    return placed;
}

std::size_t lines_in(std::span<const PlacedRun> runs) { return runs.empty() ? 0 : runs.back().line + 1; }

std::vector<PlacedBox> lay_out_boxes(std::span<const float> widths, float gap, float room) {
    std::vector<PlacedBox> placed;
    float x = 0;
    std::size_t line = 0;
    for (const float width : widths) {
        if (x > 0 && x + width > room) {
            x = 0;
            ++line;
        }
        placed.push_back({x, line});
        x += width + gap;
    }
    return placed;
}

}  // namespace attn::app
