#include "app/panels/views/token_difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "app/panels/views/token_piece.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

std::string counted_pieces(std::size_t pieces) { return pieces == 1 ? std::string("one piece") : fmt::format("{} pieces", pieces); }

/// How many pieces are alike, and how many of those have other ids; how many only cover the same characters.
std::string alike_words(const OtherTokens& other, bool with_ids) {
    std::string words = other.alike == 0 ? "no piece alike" : counted_pieces(other.alike) + " alike";
    if (other.respelled > 0) return fmt::format("{}, {} spelled differently", words, other.respelled);
    if (!with_ids || other.of_other_ids == 0) return words;
    if (other.alike == 1) return words + ", with another id";
    if (other.of_other_ids == other.alike) return words + ", all with other ids";
    return words + fmt::format(", {} of them with other ids", other.of_other_ids);
}

/// What there is to say about two tokenizations, as long as `room` allows.
std::string difference_of_tokens(const PanelContext& context, const OtherTokens& other, float room) {
    const auto& found = other.difference;
    ImFont* font = context.theme.fonts.label;
    if (!found)
        return elide(font,
                     fmt::format("Both split this text {}: {}.", other.respelled > 0 ? "at the same places" : "the same way",
                                 alike_words(other, true)),
                     room);
    const std::string counts = fmt::format("{} here, {} below", counted_pieces(found->count_own), counted_pieces(found->count_other));
    const std::string at = elide(font, piece_text(found->text), context.px(160));
    for (const bool with_ids : {true, false}) {
        std::string words = fmt::format("{}; first difference at “{}”: {}", alike_words(other, with_ids), at, counts);
        if (text_width(font, words) <= room) return words;
    }
    return elide(font, "first difference: " + counts, room);
}

/// Marks the pieces of one row from the first difference to where both agree again.
void mark_differing_pieces(const PanelContext& context, const PlacedColumns& columns, const OtherTokens::Span& span, float top,
                           float bottom) {
    const Palette& colors = context.theme.colors;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float left = columns.at(span.first), right = std::max(columns.at(span.last), left + context.px(2));
    list.AddRectFilled({left, top}, {right, bottom}, with_alpha(colors.chosen, 0.16F));
    for (const float x : {left, right}) list.AddLine({x, top}, {x, bottom}, colors.chosen, context.px(1.5F));
}

}  // namespace

void draw_first_difference(const PanelContext& context, const PlacedColumns& columns, const OtherTokens& other, float y, float row) {
    if (!other.difference) return;
    mark_differing_pieces(context, columns, other.difference->own_pieces, y - context.px(4), y + row - context.px(3));
    mark_differing_pieces(context, columns, other.difference->other_pieces, y + row - context.px(3), y + 2 * row - context.px(2));
}

void draw_difference_note(const PanelContext& context, const PlacedColumns& columns, const OtherTokens& other, float y, float left) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float end = std::max(left, list.GetClipRectMax().x - context.px(4));
    const std::string words = difference_of_tokens(context, other, end - left);
    const float most = std::max(left, end - text_width(fonts.label, words));
    const float x = other.difference ? std::clamp(columns.at(other.difference->first), left, most) : left;
    draw_text(list, fonts.label, {x, y}, other.difference ? colors.chosen_text : other.respelled > 0 ? colors.muted : colors.good, words);
}

}  // namespace attn::app
