#include "app/panels/views/token_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <tuple>

#include "app/session/values/strong_cells.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr std::size_t kMostLines = 20'000, kMostDashed = 1'500;
constexpr float kLeastLookedAt = 0.45F;  // minimum opacity of the lines of the token of interest

std::int64_t rows_of(const TokenLines& picture, Axis axis) { return axis == Axis::T ? picture.queries.count : picture.keys.count; }

bool belongs(const MapCell& line, const PointedToken& token) { return (token.axis == Axis::T ? line.row : line.col) == token.index; }

/// Skips lines that lie entirely above or below the visible area.
bool out_of_sight(const ImDrawList& list, float y0, float y1) {
    const ImVec2 low = list.GetClipRectMin(), high = list.GetClipRectMax();
    return std::max(y0, y1) < low.y || std::min(y0, y1) > high.y;
}

/// `dash`: the length of dashes and gaps; 0: solid.
void draw_line(ImDrawList& list, ImVec2 from, ImVec2 to, Color color, float thickness, float dash) {
    if (dash <= 0) return list.AddLine(from, to, color, thickness);
    const float dx = to.x - from.x, dy = to.y - from.y, length = std::sqrt(dx * dx + dy * dy);
    for (float at = 0; at < length; at += 2 * dash) {
        const float t0 = at / length, t1 = std::min(at + dash, length) / length;
        list.AddLine({from.x + dx * t0, from.y + dy * t0}, {from.x + dx * t1, from.y + dy * t1}, color, thickness);
    }
}

/// Draws a column of names; if rows are lower than a letter, only every n-th name.
void draw_column(const PanelContext& context, const TokenLines& picture, const TokenColumns& columns, Axis axis,
                 const std::optional<PointedToken>& looked_at) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    ImFont* font = columns.pitch >= context.px(15) ? fonts.mono_small : fonts.mono_tiny;
    const auto stride = std::max<std::int64_t>(static_cast<std::int64_t>(std::ceil(context.px(11) / columns.pitch)), 1);
    const TokenNames& names = axis == Axis::T ? picture.queries : picture.keys;
    const std::optional<std::int64_t> marked_row = axis == Axis::T ? picture.marked_query : picture.marked_key;
    const bool at_left = axis == Axis::S;
    for (std::int64_t i = 0; i < rows_of(picture, axis); ++i) {
        const bool marked = looked_at ? *looked_at == PointedToken{axis, i} : marked_row == i;
        if (i % stride != 0 && !marked) continue;
        const float middle = columns.middle(i), half = context.px(10);
        if (out_of_sight(list, middle - half, middle + half)) continue;
        const ImVec2 min{at_left ? columns.left : columns.line_right + context.px(6), middle - half};
        const ImVec2 max{at_left ? columns.line_left - context.px(6) : columns.right, middle + half};
        draw_text_in(list, font, min, max, {at_left ? 1.F : 0.F, 0.5F}, marked ? colors.axis(axis) : colors.muted,
                     elide(font, names.name(i), max.x - min.x));
    }
}

/// Draws the weights of the token of interest beside its strongest partners, in the colours of their lines.
void draw_numbers(const PanelContext& context, const TokenLines& picture, const TokenColumns& columns, const PointedToken& token) {
    constexpr std::size_t kMost = 4;
    if (columns.pitch < context.px(13)) return;
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const Axis other = token.axis == Axis::T ? Axis::S : Axis::T;
    for (std::int64_t i = 0; i < rows_of(picture, other); ++i) {
        const float middle = columns.middle(i), y0 = middle - context.px(7), y1 = middle + context.px(7);
        if (out_of_sight(list, y0, y1)) continue;
        const std::int64_t query = token.axis == Axis::T ? token.index : i, key = token.axis == Axis::T ? i : token.index;
        std::vector<std::pair<float, Color>> weights;
        for (const LineMap& map : picture.maps) {
            if (!map.weights.data.knows(query, key)) continue;
            const float weight = map.weights.at(query, key);
            if (!map.weights.masked(query, key) && weight >= picture.threshold) weights.emplace_back(weight, map.color);
        }
        std::stable_sort(weights.begin(), weights.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
        if (weights.empty()) continue;
        float x = other == Axis::S ? columns.line_left + context.px(8) : columns.line_right - context.px(8);
        for (std::size_t w = 0; w < std::min(weights.size(), kMost); ++w) {
            const std::string text = format_number(static_cast<double>(weights[w].first), {.decimals = 2});
            const float wide = text_width(fonts.mono_small, text);
            if (other == Axis::T) x -= wide;
            list.AddRectFilled({x - context.px(3), y0}, {x + wide + context.px(3), y1}, with_alpha(colors.pane, 0.86F), context.px(3));
            draw_text_in(list, fonts.mono_small, {x, y0}, {x + wide, y1}, {0, 0.5F}, weights[w].second, text);
            x += other == Axis::S ? wide + context.px(8) : -context.px(8);
        }
    }
}

}  // namespace

/// The index of each head's map, from the mean on; -1 if it is not drawn.
std::vector<std::int64_t> places_of_heads(const std::vector<LineMap>& maps) {
    std::vector<std::int64_t> places;
    for (std::size_t i = 0; i < maps.size(); ++i) {
        const auto head = static_cast<std::size_t>(maps[i].head - kMeanHead);
        if (head >= places.size()) places.resize(head + 1, -1);
        places[head] = static_cast<std::int64_t>(i);
    }
    return places;
}

TokenColumns token_columns(ImVec2 at, float width, float side, float pitch) {
    return {.left = at.x, .right = at.x + width, .top = at.y, .pitch = pitch, .line_left = at.x + side, .line_right = at.x + width - side};
}

std::optional<PointedToken> token_at(const TokenColumns& at, ImVec2 place, std::int64_t keys, std::int64_t queries) {
    const auto row = static_cast<std::int64_t>(std::floor((place.y - at.top) / at.pitch));
    if (row < 0 || place.x < at.left || place.x > at.right) return std::nullopt;
    if (place.x <= at.line_left && row < keys) return PointedToken{Axis::S, row};
    if (place.x >= at.line_right && row < queries) return PointedToken{Axis::T, row};
    return std::nullopt;
}

/// Says why there are no lines, unless the weights are not there yet.
void draw_no_lines(const PanelContext& context, const TokenLines& picture, const TokenColumns& columns) {
    const auto known = [](const LineMap& map) { return !map.weights.empty(); };
    if (!picture.maps.empty() && std::none_of(picture.maps.begin(), picture.maps.end(), known)) return;
    const std::string words =
        picture.maps.empty() ? "No head is chosen."
                             : fmt::format("No weight reaches {}.", format_number(static_cast<double>(picture.threshold), {.decimals = 3}));
    ImFont* font = context.theme.fonts.label;
    draw_text_in(*ImGui::GetWindowDrawList(), font, {columns.line_left, columns.top}, {columns.line_right, columns.top + context.px(40)},
                 {0.5F, 0.5F}, context.theme.colors.faint, elide(font, words, columns.line_right - columns.line_left));
}

float draw_token_lines(const PanelContext& context, const TokenLines& picture, const TokenColumns& columns,
                       const std::optional<PointedToken>& pointed) {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const std::optional<PointedToken>& looked_at = pointed ? pointed : picture.only;
    const float lane = std::min(context.px(3), columns.pitch * 0.7F / static_cast<float>(std::max<std::size_t>(picture.maps.size(), 1)));
    static const StrongCells kNone;
    std::vector<MapOfHead> maps;
    for (const LineMap& map : picture.maps) maps.push_back({&map.weights, map.head});
    const std::shared_ptr<const StrongCells> found = context.numbers().strongest(maps, kMostLines);
    const StrongCells& strong = found == nullptr ? kNone : *found;
    const std::span<const MapCell> lines = strong.at_least(picture.threshold);
    const std::vector<std::int64_t> places = places_of_heads(picture.maps);
    // With too many lines dashes are not discernible and slow; use solid ones.
    const bool dashed = lines.size() <= kMostDashed;
    for (const MapCell& line : lines) {
        const auto head = static_cast<std::size_t>(line.head - kMeanHead);
        const std::int64_t place = head < places.size() ? places[head] : -1;
        if (place < 0) continue;  // a head that was just switched off
        const LineMap& map = picture.maps[static_cast<std::size_t>(place)];
        const bool shown = !looked_at || belongs(line, *looked_at);
        // Lines of the token of interest are visible however small their weight; others are faded.
        const float weight = std::min(line.value, 1.F);
        const float strength = !shown ? weight * picture.faded : looked_at ? kLeastLookedAt + (1 - kLeastLookedAt) * weight : weight;
        // Lines between the same tokens are drawn side by side, one per head.
        const float beside = lane * (static_cast<float>(place) - static_cast<float>(picture.maps.size() - 1) / 2);
        const float from = columns.middle(line.col) + beside, to = columns.middle(line.row) + beside;
        if (strength <= 0 || out_of_sight(list, from, to)) continue;
        draw_line(list, {columns.line_left, from}, {columns.line_right, to}, with_alpha(map.color, strength),
                  context.px(shown ? 1.F + 1.5F * strength : 1.F), dashed || (looked_at && shown) ? context.px(map.dash()) : 0);
    }
    if (lines.empty() && found != nullptr) draw_no_lines(context, picture, columns);
    if (!picture.labels) return strong.least(picture.threshold);
    draw_column(context, picture, columns, Axis::S, looked_at);
    draw_column(context, picture, columns, Axis::T, looked_at);
    if (picture.numbers && looked_at) draw_numbers(context, picture, columns, *looked_at);
    return strong.least(picture.threshold);
}

namespace {

/// The `most` tokens that a token attends to most, or is attended to by, in one head; the strongest first.
std::vector<MapCell> partners_of(const LineMap& map, const PointedToken& token, std::size_t most) {
    const bool query = token.axis == Axis::T;
    std::vector<MapCell> partners;
    const std::int64_t count = query ? map.weights.data.cols : map.weights.data.rows;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t row = query ? token.index : i, col = query ? i : token.index;
        if (!map.weights.data.knows(row, col)) continue;
        const float weight = map.weights.at(row, col);
        if (!map.weights.masked(row, col) && weight > 0) partners.push_back({0, row, col, weight});
    }
    most = std::min(most, partners.size());
    std::partial_sort(
        partners.begin(), partners.begin() + static_cast<std::ptrdiff_t>(most), partners.end(),
        [](const MapCell& a, const MapCell& b) { return std::tuple(-a.value, a.row, a.col) < std::tuple(-b.value, b.row, b.col); });
    partners.resize(most);
    return partners;
}

}  // namespace

void token_tooltip(const PanelContext& context, const TokenLines& picture, const PointedToken& token) {
    // A head has several lines if it is the only one, two if there are few, else one beside its name.
    constexpr std::size_t kAlone = 5, kFewHeads = 4, kMostHeads = 16;
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    const bool query = token.axis == Axis::T;
    const std::string name = (query ? picture.queries : picture.keys).name(token.index);
    begin_tooltip(ui);
    text_line(ui, fonts.strong, colors.axis(token.axis),
              query ? fmt::format("query {} “{}” attends to", token.index, name)
                    : fmt::format("key {} “{}” is attended to by", token.index, name));
    const auto words = [&](const MapCell& partner) {
        const std::int64_t index = query ? partner.col : partner.row;
        return fmt::format("{:>3} {:<8} {}", index, (query ? picture.keys : picture.queries).name(index),
                           format_number(static_cast<double>(partner.value), {.decimals = 3}));
    };
    const bool many = picture.maps.size() > kFewHeads;
    std::size_t heads = 0;
    for (const LineMap& map : picture.maps) {
        const std::vector<MapCell> partners = partners_of(map, token, many ? 1 : picture.maps.size() > 1 ? 2 : kAlone);
        if (partners.empty() || ++heads > kMostHeads) continue;
        if (many) {
            text_line(ui, fonts.mono, map.color, fmt::format("{:<8}{}", map.name, words(partners[0])));
            continue;
        }
        if (picture.maps.size() > 1) text_line(ui, fonts.label, map.color, map.name);
        for (const MapCell& partner : partners) text_line(ui, fonts.mono, colors.muted, words(partner));
    }
    if (heads > kMostHeads)
        text_line(ui, fonts.label, colors.faint, fmt::format("and {} more head{}", heads - kMostHeads, heads - kMostHeads == 1 ? "" : "s"));
    if (heads == 0) text_line(ui, fonts.label, colors.faint, "nothing: every pair is masked");
    end_tooltip();
}

}  // namespace attn::app
