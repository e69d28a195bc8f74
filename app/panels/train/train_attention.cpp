#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "app/panels/colors.hpp"
#include "app/panels/edit/cell_edit.hpp"
#include "app/panels/maps/head_captions.hpp"
#include "app/panels/navigation.hpp"
#include "app/panels/train/train_transport.hpp"
#include "app/panels/train/train_view.hpp"
#include "app/panels/views/attention_lines.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kCaption = 36, kTileGap = 10, kMaxTile = 190;

/// The two states whose difference can be shown: B, or what is on screen, minus A.
struct Moments {
    std::shared_ptr<const Snapshot> a, b;  ///< null while they are not there
    float reach = 1;  ///< the largest difference of all heads: one range for all maps, so that equal colours are equal differences
};

bool is_of_run(const StateRef& state, std::uint64_t run) {
    const MomentOfRun* moment = state == nullptr ? nullptr : moment_of(*state);
    return moment != nullptr && moment->run == run;
}

/// There is a moment of the run that is shown to be compared with.
bool has_moments(const PanelContext& context) { return is_of_run(context.states.pinned_a, context.snapshot.run); }

Moments moments_of(const PanelContext& context) {
    const StateRef& b = is_of_run(context.states.pinned_b, context.snapshot.run) ? context.states.pinned_b : context.states.shown;
    return {context.inquiry.ask(context.states.pinned_a, facet::Trace{}).value, context.inquiry.ask(b, facet::Trace{}).value};
}

std::string moment_text(const Snapshot& snapshot) {
    return snapshot.trained_step ? "step " + format_count(*snapshot.trained_step) : std::string("not trained");
}

struct Tile {
    Matrix matrix;
    HeatmapStyle style;
    std::string place, caption;
    Color ink = 0;
};

/// Empty where one of the two states has no such map.
Tile difference_tile(PanelContext& context, const StageId& id, std::int64_t head, const Moments& pins) {
    Tile tile;
    const Matrix after = context.matrices.stage(*pins.b->trace, id, 0, head), before = context.matrices.stage(*pins.a->trace, id, 0, head);
    if (after.empty() || before.empty()) return tile;
    tile.matrix = context.matrices.difference(after, before);
    if (tile.matrix.empty()) return tile;
    tile.style = {.map = ColorMap::Diverging, .lo = -pins.reach, .hi = pins.reach};
    const TensorStatistics& statistics = context.matrices.statistics(tile.matrix);
    tile.caption = fmt::format("{} to {}", format_number(static_cast<double>(statistics.min), {.decimals = 2}),
                               format_number(static_cast<double>(statistics.max), {.decimals = 2, .plus = true}));
    tile.ink = context.theme.colors.muted;
    return tile;
}

Tile weights_tile(PanelContext& context, const StageId& id, std::int64_t head) {
    Tile tile;
    tile.matrix = context.matrices.stage(context.trace(), id, context.view.batch, head);
    if (tile.matrix.empty()) return tile;
    tile.style = style_of(context, tile.matrix, id);
    const HeadCaption caption = head_caption(context, id, head);
    tile.caption = caption.text;
    tile.ink = caption.color;
    return tile;
}

float largest_difference(PanelContext& context, const Moments& pins) {
    constexpr float kLeast = 0.05F;  // below it there is nothing to see
    float reach = kLeast;
    for (std::int64_t layer = 0; layer < context.trace().config.num_layers; ++layer) {
        for (std::int64_t head = 0; head < context.trace().config.num_heads; ++head) {
            const Tile tile = difference_tile(context, {Stage::Weights, static_cast<int>(layer)}, head, pins);
            if (tile.matrix.empty()) continue;
            const TensorStatistics& statistics = context.matrices.statistics(tile.matrix);
            reach = std::max({reach, statistics.max, -statistics.min});
        }
    }
    return std::min(reach, 1.F);
}

void hover_tile(PanelContext& context, const Tile& tile, ImVec2 at, float size) {
    const auto& [colors, fonts, scale] = context.theme;
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const auto index = [size](float place, std::int64_t count) {
        return std::clamp(static_cast<std::int64_t>(place / size * static_cast<float>(count)), std::int64_t{0}, count - 1);
    };
    const Matrix& matrix = tile.matrix;
    const std::int64_t row = index(mouse.y - at.y, matrix.data.rows), col = index(mouse.x - at.x, matrix.data.cols);
    context.view.hovered.set(Axis::T, row);
    context.view.hovered.set(Axis::S, col);
    begin_tooltip(context.ui());
    text_line(context.ui(), fonts.strong, colors.text, tile.place + "  " + tile.caption);
    text_line(context.ui(), fonts.mono, colors.muted,
              fmt::format("query {} → key {}: {}", row, col,
                          matrix.masked(row, col) ? kMasked : format_number(static_cast<double>(matrix.at(row, col)))));
    text_line(context.ui(), fonts.label, colors.faint, "click: choose this head · double-click: open it step by step");
    end_tooltip();
}

void draw_tile(PanelContext& context, const StageId& id, std::int64_t head, ImVec2 at, float size, float room, const Moments* pins) {
    const auto& [colors, fonts, scale] = context.theme;
    Tile tile = pins != nullptr ? difference_tile(context, id, head, *pins) : weights_tile(context, id, head);
    if (tile.matrix.empty()) return;
    tile.place = fmt::format("L{} H{}", id.layer, head);
    ImGui::SetCursorScreenPos(at);
    ImGui::PushID(static_cast<int>(id.layer * 1000 + head));
    const Item item = begin_item(context.ui(), "##tile", {size, size}, {.explains_itself = true});
    const bool hovered = item.hovered, twice = hovered && ImGui::IsMouseDoubleClicked(0);
    ImGui::PopID();
    draw_focus_ring(context.ui(), item, 0);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const ImVec2 end{at.x + size, at.y + size};
    context.canvas.heatmap(list, at, end, {tile.matrix.data, tile.style});
    draw_edited_corner(context, tile.matrix, at, end);
    const bool chosen = head == context.view.head && id.layer == context.view.stage.layer;
    const float out = chosen ? context.px(1.5F) : 0;
    list.AddRect({at.x - out, at.y - out}, {end.x + out, end.y + out},
                 chosen    ? colors.chosen
                 : hovered ? colors.accent
                           : colors.line,
                 0, 0, context.px(chosen || hovered ? 2 : 1));
    draw_text(list, fonts.mono_small, {at.x, end.y + context.px(4)}, colors.text, tile.place);
    draw_text(list, fonts.caption, {at.x, end.y + context.px(19)}, tile.ink, elide(fonts.caption, tile.caption, room));
    if (item.pressed || twice) {
        context.view.stage = id;
        context.view.head = head;
        if (twice) context.view.view = View::Step;
    }
    if (hovered && context.view.view == View::Train) hover_tile(context, tile, at, size);
}

void draw_tiles(PanelContext& context, const Moments* pins) {
    const std::int64_t layers = context.trace().config.num_layers, heads = context.trace().config.num_heads;
    ImGui::PushStyleColor(ImGuiCol_ChildBg, IM_COL32(0, 0, 0, 0));
    ImGui::BeginChild("##tiles", ImGui::GetContentRegionAvail(), false, ImGuiWindowFlags_NoNav);
    ImGui::PopStyleColor();
    const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    const float gap = context.px(kTileGap), caption = context.px(kCaption), frame = context.px(2);
    // As many columns as heads, or fewer in several rows where the maps would be too small to be read.
    float size = 0, pitch_x = 0;
    std::int64_t columns = heads;
    for (std::int64_t split = 1; split <= heads; ++split) {
        const std::int64_t cols = (heads + split - 1) / split, rows = layers * split;
        const float pitch = (room.x - 2 * frame) / static_cast<float>(cols);
        const float high = (room.y - 2 * frame) / static_cast<float>(rows) - caption - gap;
        const float fits = std::min({pitch - gap, high, context.px(kMaxTile)});
        if (fits <= size) continue;
        size = fits;
        columns = cols;
        pitch_x = pitch;
    }
    size = std::floor(std::max(size, context.px(36)));
    pitch_x = std::min(pitch_x > 0 ? pitch_x : size + gap, size + context.px(84));
    const std::int64_t lines = (heads + columns - 1) / columns;
    const float pitch_y =
        std::max(size + caption + gap, std::min(room.y / static_cast<float>(layers * lines), size + caption + context.px(26)));
    for (std::int64_t layer = 0; layer < layers; ++layer) {
        for (std::int64_t head = 0; head < heads; ++head) {
            const auto row = static_cast<float>(layer * lines + head / columns), col = static_cast<float>(head % columns);
            const ImVec2 tile{std::floor(at.x + frame + col * pitch_x), std::floor(at.y + frame + row * pitch_y)};
            draw_tile(context, {Stage::Weights, static_cast<int>(layer)}, head, tile, size, pitch_x - context.px(4), pins);
        }
    }
    ImGui::SetCursorScreenPos({at.x, at.y + static_cast<float>(layers * lines) * pitch_y - gap});
    ImGui::Dummy({1, 1});
    ImGui::EndChild();
}

/// That what is shown is not the model as it was trained, with a way to the list; returns the height it took.
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

/// Heading, probe and the choice between maps, lines and the difference of two moments.
float draw_header(PanelContext& context, const Moments& pins, bool difference) {
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    TrainView& train = context.view.train;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float right = at.x + ImGui::GetContentRegionAvail().x;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const std::string title = difference ? fmt::format("{} − {}, ±{}", moment_text(*pins.b), moment_text(*pins.a),
                                                       format_number(static_cast<double>(pins.reach), {.decimals = 2}))
                                         : "attention at " + moment_text(context.snapshot);
    static constexpr std::array<std::string_view, 3> kNames = {"maps", "lines", "B − A"};
    const std::span<const std::string_view> names(kNames.data(), has_moments(context) ? 3 : 2);
    float limit = right - segmented_width(ui, names) - context.px(2);
    ImGui::SetCursorScreenPos({limit, at.y - context.px(2)});
    int chosen = difference ? 2 : train.lines ? 1 : 0;
    if (segmented(ui, "##attention", names, chosen, 0,
                  {.tooltip = "Every head's weights as maps, the chosen head's as lines from query to key, or how the maps differ between "
                              "the pinned moments. The other views compare with A."})) {
        train.lines = chosen == 1;
        train.difference = chosen == 2;
    }
    limit -= context.px(12);
    draw_text(list, fonts.title, at, colors.text, elide(fonts.title, title, limit - at.x));
    const float used = text_width(fonts.title, title) + context.px(16);
    if (!context.snapshot.tokens.empty() && limit - at.x - used > context.px(70)) {
        const auto& sequences = context.snapshot.tokens;
        std::string probe;
        for (const Token& token : sequences[std::min(static_cast<std::size_t>(context.view.batch), sequences.size() - 1)])
            if (!token.padding) probe += visible_text(token.text, true);
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
    if (context.training.snapshot->run == 0) {
        paragraph(ui, fonts.label, colors.faint,
                  "Every head of every layer on one held-out sequence, changing while the model learns. A head that has found a pattern is "
                  "named: previous token, first token, after a repeat.");
        return;
    }
    if (context.document.trained && context.document.trained->run == context.training.snapshot->run) {
        paragraph(ui, fonts.label, colors.faint, "The model is being computed.");
        return;
    }
    paragraph(ui, fonts.label, colors.muted, "The other views show another model than this run's.");
    gap(ui, 8);
    if (button(ui, "Show the run's newest model", {.notes = {.tooltip = "Shows the run's model in all views (End)"}}))
        follow_newest(context);
}

}  // namespace

void draw_train_attention(PanelContext& context) {
    const bool trained = context.ready() && context.snapshot.run != 0 && context.document.trained.has_value();
    if (!trained) return draw_empty(context);
    const bool wanted = context.view.train.difference && has_moments(context);
    Moments pins = wanted ? moments_of(context) : Moments();
    const bool difference = pins.a != nullptr && pins.b != nullptr;
    if (difference) pins.reach = largest_difference(context, pins);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float header = draw_header(context, pins, difference);
    ImGui::SetCursorScreenPos({at.x, at.y + header});
    if (context.view.train.lines && !difference) draw_attention_lines(context);
    else draw_tiles(context, difference ? &pins : nullptr);
}

}  // namespace attn::app
