#pragma once
/// Looking for heads by their place or by what they do.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "app/widgets/ui.hpp"
#include "engine/trace/head_scores.hpp"

namespace attn::app {

struct PatternInfo {
    const char* name;        ///< "first token"
    const char* short_name;  ///< "sink": where there is little room
    const char* words;       ///< by which it is found
    const char* tooltip;
};
/// All of them; the last, alignment, is of cross-attention alone.
std::span<const PatternInfo> head_patterns();

/// How much of its weight a head has where the pattern says, 0 to 1; 0 where that means nothing for it.
double pattern_share(const HeadScore& score, std::string_view pattern);
/// A head shows a pattern with more than half of its weight.
inline constexpr double kShowsPattern = 0.5;

/// 'L'; of a model of two stacks 'E' in the encoder, 'D' in the decoder, and 'X' where the decoder looks at what the encoder read.
char attention_letter(const StageId& weights);

/// What is typed to find heads: "L5 H3", "l5h3", "5.3", "layer 5", "head 3", "X0 H3", "encoder", a pattern or the beginning of its words,
/// or some of these together.
struct HeadQuery {
    std::optional<std::int64_t> layer, head;
    std::string_view pattern{};  ///< one of head_patterns(); "": any
    char attention = 0;          ///< as attention_letter(); 0: any
    std::string unknown{};       ///< the first word that is none of these
    bool empty() const { return !layer && !head && attention == 0 && pattern.empty() && unknown.empty(); }
    /// Nothing fits a query with a word that means nothing.
    bool fits(const HeadScore& score) const;
};
HeadQuery read_head_query(std::string_view typed);

/// The pattern as a pictogram of this size.
void draw_pattern_icon(ImDrawList& list, ImVec2 min, float size, std::string_view pattern, Color color);

}  // namespace attn::app
