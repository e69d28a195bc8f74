#pragma once
/// Search for heads by position or behaviour.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "app/widgets/ui.hpp"
#include "engine/trace/head_score.hpp"

namespace attn::app {

struct PatternInfo {
    const char* name;        ///< such as "first token"
    const char* short_name;  ///< such as "sink"; what views call it
    const char* words;       ///< search keywords
    const char* tooltip;
};
/// All patterns; the last one, alignment, applies to cross-attention only.
std::span<const PatternInfo> head_patterns();

/// The fraction of a head's weight that follows the pattern, 0 to 1; 0 if the pattern does not apply.
double pattern_share(const HeadScore& score, std::string_view pattern);
/// Whether the head can show the pattern at all: alignment belongs to cross-attention, and repeats need repeated tokens.
bool has_pattern(const HeadScore& score, std::string_view pattern);
/// A head shows a pattern if more than half of its weight follows it.
inline constexpr double kShowsPattern = 0.5;

/// 'L'; in an encoder-decoder 'E' for the encoder, 'D' for the decoder and 'X' for cross-attention.
char attention_letter(const StageId& weights);

/// A parsed search: "L5 H3", "l5h3", "5.3", "layer 5", "head 3", "X0 H3", "encoder", a pattern or beginnings of its words, or a
/// combination.
struct HeadQuery {
    std::optional<std::int64_t> layer, head;
    std::string_view pattern{};  ///< one of head_patterns(); "": any
    char attention = 0;          ///< as in attention_letter(); 0: any
    std::string unknown{};       ///< the first word that was not understood
    bool empty() const { return !layer && !head && attention == 0 && pattern.empty() && unknown.empty(); }
    /// Always false if `unknown` is not empty.
    bool fits(const HeadScore& score) const;
};
HeadQuery read_head_query(std::string_view typed);

/// Draws the icon of a pattern.
void draw_pattern_icon(ImDrawList& list, ImVec2 min, float size, std::string_view pattern, Color color);

}  // namespace attn::app
