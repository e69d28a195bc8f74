#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "app/panels/compare/colors.hpp"
#include "app/panels/compare/comparison.hpp"
#include "app/panels/compare/head_captions.hpp"
#include "app/panels/compare/shown_maps.hpp"
#include "app/panels/edit/cell_edit.hpp"
#include "app/panels/kit/labels.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/kit/scrolled.hpp"
#include "app/panels/kit/train_words.hpp"
#include "app/panels/train/train_transport.hpp"
#include "app/panels/train/train_view.hpp"
#include "app/panels/views/attention_lines.hpp"
#include "app/session/states/text_model.hpp"
#include "app/session/values/snapshot.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/token_chips.hpp"

namespace attn::app {
namespace {

constexpr float kCaption = 36, kShortCaption = 20, kTileGap = 10, kMaxTile = 240, kMinTile = 36;
/// The room for the small maps beside the large one, as a share of the width, and its limits.
constexpr float kSmallMaps = 0.36F, kLeastSmallMaps = 120, kMostSmallMaps = 320;

/// The two states whose difference can be shown: B (or the shown state) minus A.
struct Moments {
    std::shared_ptr<const Snapshot> a, b;  ///< null until computed
    float reach = 1;  ///< the largest difference over all heads: all maps share this range, so that equal colours are equal differences
    bool all = true;  ///< whether `reach` is that of all heads; some may still be computed
};

bool is_of_run(const StateRef& state, std::uint64_t run) {
    const MomentOfRun* moment = state == nullptr ? nullptr : moment_of(*state);
    return moment != nullptr && moment->run == run;
}

/// Whether A is a moment of the shown run.
bool has_moments(const PanelContext& context) { return is_of_run(context.states.pinned_a, context.snapshot.run); }

Moments moments_of(const PanelContext& context) {
    const StateRef& b = is_of_run(context.states.pinned_b, context.snapshot.run) ? context.states.pinned_b : context.states.shown;
    return {context.inquiry.ask(context.states.pinned_a, facet::Trace{}).value, context.inquiry.ask(b, facet::Trace{}).value};
}

std::string moment_text(const Snapshot& snapshot) {
    return snapshot.trained_step ? "step " + format_count(*snapshot.trained_step) : std::string("not trained");
}

struct Tile {
    Matrix matrix;  ///< empty, but with its sizes, until it is computed
    HeatmapStyle style;
    std::string place;
    HeadCaption caption;
};

bool is_awaited(const Tile& tile) { return tile.matrix.empty() && tile.matrix.data.rows > 0; }

/// Without sizes if the shapes differ; empty, but with its sizes, until it is computed.
Matrix difference_of(const PanelContext& context, const Matrix& after, const Matrix& before) {
    Matrix difference = context.numbers().difference(after, before).map;
    const bool same_size = after.data.rows == before.data.rows && after.data.cols == before.data.cols;
    if (!difference.empty() || !same_size) return difference;
    difference = after;
    difference.data.values = nullptr;
    return difference;
}

/// Without sizes if one of the states has no such map.
Tile difference_tile(PanelContext& context, const StageId& id, std::int64_t head, const Moments& pins) {
    Tile tile;
    const auto map_of = [&](const Snapshot& moment) {
        return context.numbers().numbers({.of = {moment.state, &moment}, .stage = id, .head = head, .if_held = true}).map;
    };
    const Matrix after = map_of(*pins.b), before = map_of(*pins.a);
    if (after.empty() || before.empty()) return tile;
    tile.matrix = difference_of(context, after, before);
    if (tile.matrix.empty()) return tile;
    tile.style = {.map = ColorMap::Diverging, .lo = -pins.reach, .hi = pins.reach};
    const TensorStatistics& statistics = context.numbers().statistics(tile.matrix);
    tile.caption = {fmt::format("{} to {}", format_number(static_cast<double>(statistics.min), {.decimals = 2}),
                                format_number(static_cast<double>(statistics.max), {.decimals = 2, .plus = true})),
                    context.theme.colors.muted};
    return tile;
}

/// The weights stages of all attentions in computation order.
std::vector<StageId> attentions_of(const Structure& structure) {
    std::vector<StageId> ids;
    for (const PlanNode& node : structure.plan->nodes())
        if (node.id.stage == Stage::Weights) ids.push_back(node.id);
    return ids;
}

Tile weights_tile(PanelContext& context, const StageId& id, std::int64_t head) {
    Tile tile;
    tile.matrix = context.beside(id, head);
    if (tile.matrix.empty()) return tile;
    tile.style = style_of(context, tile.matrix, id);
    tile.caption = head_caption(context, id, head);
    return tile;
}

/// Sets the range.
void find_largest_difference(PanelContext& context, Moments& pins) {
    constexpr float kLeast = 0.05F;  // smaller differences are not visible
    float reach = kLeast;
    for (const StageId& id : attentions_of(context.structure())) {
        for (std::int64_t head = 0; head < context.structure().config.num_heads; ++head) {
            const Tile tile = difference_tile(context, id, head, pins);
            pins.all &= !is_awaited(tile);
            if (tile.matrix.empty()) continue;
            const TensorStatistics& statistics = context.numbers().statistics(tile.matrix);
            reach = std::max({reach, statistics.max, -statistics.min});
        }
    }
    pins.reach = std::min(reach, 1.F);
}

void hover_tile(PanelContext& context, const Tile& tile, ImVec2 at, ImVec2 size) {
    const auto& [colors, fonts, scale] = context.theme;
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const auto index = [](float share, std::int64_t count) {
        return std::clamp(static_cast<std::int64_t>(share * static_cast<float>(count)), std::int64_t{0}, count - 1);
    };
    const Matrix& matrix = tile.matrix;
    const std::int64_t row = index((mouse.y - at.y) / size.y, matrix.data.rows), col = index((mouse.x - at.x) / size.x, matrix.data.cols);
    context.view.hovered.set(Axis::T, row);
    context.view.hovered.set(Axis::S, col);
    begin_tooltip(context.ui());
    text_line(context.ui(), fonts.strong, colors.text, tile.place + "  " + tile.caption.text);
    text_line(context.ui(), fonts.mono, colors.muted,
              fmt::format("query {} → key {}: {}", row, col,
                          matrix.masked(row, col) ? kMasked : format_number(static_cast<double>(matrix.at(row, col)))));
    text_line(context.ui(), fonts.label, colors.faint, "click: choose this head · double-click: open it step by step");
    end_tooltip();
}

void draw_tile(PanelContext& context, const StageId& id, std::int64_t head, ImVec2 at, float size, float room, const Moments* pins) {
    const auto& [colors, fonts, scale] = context.theme;
    Tile tile = pins != nullptr ? difference_tile(context, id, head, *pins) : weights_tile(context, id, head);
    if (tile.matrix.empty() && !is_awaited(tile)) return;
    tile.place = attention_name(id, head);
    // Cells are square, even if there are more queries than keys.
    const auto rows = static_cast<float>(tile.matrix.data.rows), columns = static_cast<float>(tile.matrix.data.cols);
    const ImVec2 extent{size * std::min(1.F, columns / rows), size * std::min(1.F, rows / columns)};
    ImGui::SetCursorScreenPos(at);
    ImGui::PushID(tile.place.c_str());
    const Item item = begin_item(context.ui(), "##tile", extent, {.explains_itself = true});
    const bool hovered = item.hovered, twice = hovered && ImGui::IsMouseDoubleClicked(0);
    ImGui::PopID();
    draw_focus_ring(context.ui(), item, 0);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const ImVec2 end{at.x + extent.x, at.y + extent.y};
    if (is_awaited(tile)) draw_awaited(context, at, end);
    else context.canvas.heatmap(list, at, end, {tile.matrix.data, tile.style});
    draw_edited_corner(context, tile.matrix, at, end);
    const bool chosen = is_large_head(context, id, head);
    const float out = chosen ? context.px(1.5F) : 0;
    list.AddRect({at.x - out, at.y - out}, {end.x + out, end.y + out},
                 chosen    ? colors.chosen
                 : hovered ? colors.accent
                           : colors.line,
                 0, 0, context.px(chosen || hovered ? 2 : 1));
    const bool fits = text_width(fonts.mono_small, tile.place) <= room;
    draw_text(list, fonts.mono_small, {at.x, end.y + context.px(4)}, colors.text,
              fits ? tile.place : elide(fonts.mono_small, attention_name(id, head, true), room));
    // In an encoder-decoder there are so many maps that only the name fits.
    if (id.stack == Stack::Main)
        draw_text(list, fonts.caption, {at.x, end.y + context.px(19)}, tile.caption.color,
                  pins != nullptr ? elide(fonts.caption, tile.caption.text, room)
                                  : caption_that_fits(tile.caption, fonts.caption, room - context.px(4)));
    if (item.pressed || twice) {
        context.view.stage = id;
        context.view.head = head;
        if (twice) context.view.view = View::Step;
    }
    if (hovered && !is_awaited(tile) && context.view.view == View::Train) hover_tile(context, tile, at, extent);
}

/// The map size per attention, and the number of columns.
struct TileRows {
    std::vector<float> sizes;  ///< by attention
    std::int64_t columns = 1;
    float pitch_x = 0, caption = 0;
};

/// One column per head, or fewer columns in several rows if the maps would be too small.
TileRows same_size_rows(const PanelContext& context, ImVec2 room, std::int64_t attentions, std::int64_t heads) {
    const float gap = context.px(kTileGap), caption = context.px(kCaption), frame = context.px(2);
    TileRows rows{{}, heads, 0, caption};
    float size = 0;
    for (std::int64_t split = 1; split <= heads; ++split) {
        const std::int64_t cols = (heads + split - 1) / split;
        const float pitch = (room.x - 2 * frame) / static_cast<float>(cols);
        const float high = (room.y - 2 * frame) / static_cast<float>(attentions * split) - caption - gap;
        const float fits = std::min({pitch - gap, high, context.px(kMaxTile)});
        if (fits <= size) continue;
        size = fits;
        rows.columns = cols;
        rows.pitch_x = pitch;
    }
    rows.sizes.assign(static_cast<std::size_t>(attentions), std::floor(std::max(size, context.px(kMinTile))));
    return rows;
}

/// For an encoder-decoder: cross-attention, which joins the two stacks, gets twice the size of the rest.
TileRows two_stack_rows(const PanelContext& context, ImVec2 room, const std::vector<StageId>& attentions, std::int64_t heads) {
    const float gap = context.px(kTileGap), caption = context.px(kShortCaption), frame = context.px(2);
    const auto crosses = static_cast<float>(
        std::count_if(attentions.begin(), attentions.end(), [](const StageId& id) { return id.attention == kCrossAttention; }));
    const auto all = static_cast<float>(attentions.size());
    TileRows rows{{}, heads, (room.x - 2 * frame) / static_cast<float>(heads), caption};
    const float high = (room.y - 2 * frame - all * (caption + gap)) / (all + crosses);
    for (const StageId& id : attentions) {
        const float wanted = std::max(high * (id.attention == kCrossAttention ? 2.F : 1.F), context.px(kMinTile));
        rows.sizes.push_back(std::floor(std::min({wanted, rows.pitch_x - gap, context.px(kMaxTile)})));
    }
    return rows;
}

void draw_tiles(PanelContext& context, const Moments* pins, ImVec2 area) {
    const std::vector<StageId> attentions = attentions_of(context.structure());
    const std::int64_t heads = context.structure().config.num_heads;
    const Scrolled scrolled(context.ui(), "##tiles", area);
    const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    const float gap = context.px(kTileGap), frame = context.px(2);
    const bool two_stacks = context.structure().config.architecture == Architecture::EncoderDecoder;
    const TileRows rows = two_stacks ? two_stack_rows(context, room, attentions, heads)
                                     : same_size_rows(context, room, static_cast<std::int64_t>(attentions.size()), heads);
    const float widest = *std::max_element(rows.sizes.begin(), rows.sizes.end());
    const float pitch_x = std::min(rows.pitch_x > 0 ? rows.pitch_x : widest + gap, widest + context.px(84));
    const std::int64_t lines = (heads + rows.columns - 1) / rows.columns;
    const auto all_lines = static_cast<float>(static_cast<std::int64_t>(attentions.size()) * lines);
    float used = 0;
    for (const float size : rows.sizes) used += static_cast<float>(lines) * (size + rows.caption + gap);
    const float more = std::clamp((room.y - used) / all_lines, 0.F, context.px(16));  // distribute the remaining space between the rows
    float y = at.y + frame;
    for (std::size_t i = 0; i < attentions.size(); ++i) {
        const float pitch_y = rows.sizes[i] + rows.caption + gap + more;
        for (std::int64_t head = 0; head < heads; ++head) {
            const ImVec2 tile{std::floor(at.x + frame + static_cast<float>(head % rows.columns) * pitch_x),
                              std::floor(y + static_cast<float>(head / rows.columns) * pitch_y)};
            draw_tile(context, attentions[i], head, tile, rows.sizes[i], pitch_x - context.px(4), pins);
        }
        y += static_cast<float>(lines) * pitch_y;
    }
    ImGui::SetCursorScreenPos({at.x, y - gap});
    ImGui::Dummy({1, 1});
}

/// Leads back from a head of the user's choice to the one that forms.
void draw_forming_link(PanelContext& context, const HeadPlace& large, ImVec2 at) {
    TrainView& train = context.view.train;
    const RunLines* run = train.curves.find(context.snapshot.run);
    if (!train.own_head || run == nullptr || !run->forming) return;
    const HeadCurves& forming = run->heads[*run->forming];
    if (large == HeadPlace{forming.id, forming.head}) return;
    ImGui::SetCursorScreenPos(at);
    const std::string words = fmt::format("{} forms: show it", attention_name(forming.id, forming.head));
    if (link(context.ui(), words.c_str(), "The head whose pattern has become strongest since the run began.")) train.own_head = false;
}

/// The map of the large head, and beside it small ones of all heads.
void draw_maps(PanelContext& context, const Moments* pins) {
    const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    const float between = context.px(18), caption = context.px(kCaption), frame = context.px(2);
    const float small = std::clamp(room.x * kSmallMaps, context.px(kLeastSmallMaps), context.px(kMostSmallMaps));
    const float size = std::floor(std::min(room.x - small - between, room.y - caption - 2 * frame));
    const HeadPlace large = context.view.train.large.value_or(HeadPlace{});
    if (size < context.px(2 * kMinTile) || !context.has_stage(large.id)) return draw_tiles(context, pins, room);
    ImGui::SetCursorScreenPos({at.x + size + between, at.y});
    draw_tiles(context, pins, {room.x - size - between, room.y});
    ImGui::PushID("large");
    draw_tile(context, large.id, large.head, {at.x + frame, at.y + frame}, size, size, pins);
    ImGui::PopID();
    draw_forming_link(context, large, {at.x + frame + size / 2, at.y + frame + size + context.px(4)});
}

/// A note that the shown model is edited, with a link to the list of edits; returns its height.
float draw_edits_note(PanelContext& context, ImVec2 at) {
    const auto& edits = context.document.forward.edits;
    const auto on = std::count_if(edits.begin(), edits.end(), [](const Edit& edit) { return edit.on; });
    if (on == 0) return 0;
    ImGui::SetCursorScreenPos(at);
    const std::string words =
        on == 1 ? "One edit applies to every step: show it" : fmt::format("{} edits apply to every step: show them", on);
    if (link(context.ui(), words.c_str(), "The list of edits is in the settings of the other views, where they can be switched off."))
        context.view.view = View::Step;
    return context.px(22);
}

/// Draws the heading, the probe and the switch between maps, lines and difference.
float draw_header(PanelContext& context, const Moments& pins, bool difference) {
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    TrainView& train = context.view.train;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float right = at.x + ImGui::GetContentRegionAvail().x;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    std::string title = "attention at " + moment_text(context.snapshot);
    if (difference) title = fmt::format("{} − {}", moment_text(*pins.b), moment_text(*pins.a));
    if (difference && pins.all) title += fmt::format(", ±{}", format_number(static_cast<double>(pins.reach), {.decimals = 2}));
    static constexpr std::array<std::string_view, 3> kNames = {"maps", "lines", "B − A"};
    const std::span<const std::string_view> names(kNames.data(), has_moments(context) ? 3 : 2);
    float limit = right - segmented_width(ui, names) - context.px(2);
    ImGui::SetCursorScreenPos({limit, at.y - context.px(2)});
    int chosen = difference ? 2 : train.lines ? 1 : 0;
    if (segmented(ui, "##attention", names, chosen, 0,
                  {.tooltip = "Every head's weights as maps, the chosen head's as lines from query to key, or how the maps differ between "
                              "the pinned steps. The other views compare with A."})) {
        train.lines = chosen == 1;
        train.difference = chosen == 2;
    }
    limit -= context.px(12);
    draw_text(list, fonts.title, at, colors.text, elide(fonts.title, title, limit - at.x));
    const float used = text_width(fonts.title, title) + context.px(16);
    if (!context.snapshot.tokens.empty() && limit - at.x - used > context.px(70)) {
        const auto& sequences = context.snapshot.tokens;
        std::string probe;
        const RunStatus& run = *context.training.status;
        const std::string between(own_conventions(run.tokenizer, run.special_tokens).between);
        // For a translation, show the source sentence.
        const auto& shown_sequences = context.snapshot.source_tokens.empty() ? sequences : context.snapshot.source_tokens;
        std::vector<Token> tokens = shown_sequences[std::min(static_cast<std::size_t>(context.view.batch), shown_sequences.size() - 1)];
        std::erase_if(tokens, [](const Token& token) { return token.padding; });
        for (const std::string& piece : readable_pieces(tokens)) probe += (probe.empty() ? "" : between) + piece;
        const std::string shown = elide(fonts.mono_small, "text: " + probe, limit - at.x - used);
        draw_text_in(list, fonts.mono_small, {at.x + used, at.y + context.px(2)}, {limit, at.y + context.px(20)}, {1, 0.5F}, colors.muted,
                     shown);
    }
    return context.px(32) + draw_edits_note(context, {at.x, at.y + context.px(26)});
}

void draw_empty(PanelContext& context) {
    const auto& [colors, fonts, scale] = context.theme;
    const Ui ui = context.ui();
    text_line(ui, fonts.title, colors.text, "attention");
    gap(ui, 10);
    if (context.training.status->run == 0) {
        paragraph(ui, fonts.label, colors.faint,
                  "Every head of every layer on one held-out sequence, changing while the model learns. A head that has found a pattern is "
                  "named: previous token, first token, after a repeat.");
        return;
    }
    if (context.document.trained && context.document.trained->run == context.training.status->run) {
        paragraph(ui, fonts.label, colors.faint, "The model is being computed.");
        return;
    }
    constexpr float kButton = 220, kLineHigh = 34;
    const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    const float middle = at.y + std::max(room.y * 0.42F - context.px(kLineHigh), 0.F);
    draw_text_in(*ImGui::GetWindowDrawList(), fonts.body, {at.x, middle}, {at.x + room.x, middle + context.px(kLineHigh)}, {0.5F, 0},
                 colors.muted, elide(fonts.body, "Another model is shown. The maps are of this run's.", room.x));
    ImGui::SetCursorScreenPos({at.x + std::max((room.x - context.px(kButton)) / 2, 0.F), middle + context.px(kLineHigh)});
    if (button(ui, "Show the run's newest model",
               {.width = kButton, .notes = {.tooltip = "Its maps as they form, here and in all views (End)."}}))
        follow_newest(context);
}

}  // namespace

void draw_train_attention(PanelContext& context) {
    const bool trained = context.ready() && context.snapshot.run != 0 && context.document.trained.has_value();
    if (!trained) return draw_empty(context);
    const bool wanted = context.view.train.difference && has_moments(context);
    Moments pins = wanted ? moments_of(context) : Moments();
    const bool difference = pins.a != nullptr && pins.b != nullptr;
    if (difference) find_largest_difference(context, pins);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float header = draw_header(context, pins, difference);
    ImGui::SetCursorScreenPos({at.x, at.y + header});
    if (context.view.train.lines && !difference) draw_attention_lines(context);
    else draw_maps(context, difference ? &pins : nullptr);
}

}  // namespace attn::app
