#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/panels/kit/labels.hpp"
#include "app/panels/write/fill_in_view.hpp"
#include "app/panels/write/write_view.hpp"
#include "app/panels/write/writing_actions.hpp"
#include "app/session/states/kept_tokenizer.hpp"
#include "app/session/values/head_rows.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/heatmap_view.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr float kHeadLabels = 60, kKeyLabels = 76, kMostHeadRow = 24, kMostKey = 30, kSlanting = 34;

std::string head_label(const HeadRowsOf& rows, std::size_t row) { return fmt::format("L{} H{}", rows.maps[row].layer, rows.heads[row]); }

/// The last position of the shown moment, or in an encoder the position of the hidden word.
std::int64_t asked_position(const PanelContext& context) {
    if (const auto hidden = reads_both_ways(context) ? hidden_position(context.snapshot, context.view) : std::nullopt) return *hidden;
    const auto& lengths = context.structure().tokens.lengths;
    const auto sequence =
        static_cast<std::size_t>(std::clamp<std::int64_t>(context.view.batch, 0, static_cast<std::int64_t>(lengths.size()) - 1));
    return std::max<std::int64_t>(lengths[sequence] - 1, 0);
}

void open_row(PanelContext& context, const HeadRowsOf& rows, std::size_t row, std::int64_t position, std::int64_t key) {
    context.view.stage = rows.maps[row];
    context.view.head = rows.heads[row];
    context.view.locked.set(Axis::T, position);
    context.view.locked.set(Axis::S, key);
    context.view.view = View::Step;
}

/// Stores new rows along with their words, because the text may change before the next rows are ready.
void keep(const PanelContext& context, std::shared_ptr<const HeadRows> rows, std::string word, HeadRowsView& view) {
    view.last = std::move(rows);
    view.config = context.structure().config;
    view.word = std::move(word);
    view.keys.clear();
    for (const HeadRowsOf& kind : view.last->kinds) {
        std::vector<std::string>& keys = view.keys.emplace_back();
        for (std::int64_t key = 0; key < kind.keys; ++key) keys.push_back(index_label(context, kind.maps.front(), Axis::S, key));
    }
}

/// Cells can be opened only if `position` is given, which it is for rows of the shown moment.
void draw_rows(PanelContext& context, const HeadRowsOf& rows, const std::vector<std::string>& keys, std::optional<std::int64_t> position,
               float height, float largest) {
    const auto count = static_cast<std::int64_t>(rows.maps.size());
    const auto head = [&](std::int64_t row) { return head_label(rows, static_cast<std::size_t>(row)); };
    const float longest = count == 0 ? 0 : text_width(context.theme.fonts.mono_small, head(count - 1));  // has the most digits
    const float width = ImGui::GetContentRegionAvail().x, labels = std::max(context.px(kHeadLabels), longest + context.px(18)),
                above = context.px(kKeyLabels);
    const float cell_w =
        std::min((width - labels - context.px(kSlanting)) / static_cast<float>(std::max<std::int64_t>(rows.keys, 1)), context.px(kMostKey));
    const float cell_h = std::min((height - above) / static_cast<float>(std::max<std::int64_t>(count, 1)), context.px(kMostHeadRow));
    const ImVec2 at = ImGui::GetCursorScreenPos(), min{at.x + labels, at.y + above};
    const ImVec2 max{min.x + cell_w * static_cast<float>(rows.keys), min.y + cell_h * static_cast<float>(count)};
    HeatmapOptions options;
    options.rows = {.label = head, .room = labels - context.px(6)};
    options.cols = {.label = labels_in(keys), .room = above - context.px(4)};
    options.zoom = options.pan = options.numbers = false;
    HeatmapViewState whole;
    const HeatmapData data{.values = rows.weights.data(), .rows = count, .cols = rows.keys, .row_stride = rows.keys};
    const HeatmapResult hit = heatmap_view(context.ui(), rows.cross ? "##cross_rows" : "##head_rows", min, max, data,
                                           {.map = ColorMap::Sequential, .lo = 0, .hi = largest}, whole, options);
    ImGui::SetCursorScreenPos({at.x, max.y + context.px(8)});
    if (hit.clicked && position) open_row(context, rows, static_cast<std::size_t>(hit.clicked->row), *position, hit.clicked->col);
    if (!hit.hovered) return;
    const auto row = static_cast<std::size_t>(hit.hovered->row);
    begin_tooltip(context.ui());
    text_line(context.ui(), context.theme.fonts.strong, context.theme.colors.text, head_label(rows, row) + (rows.cross ? ", cross" : ""));
    text_line(
        context.ui(), context.theme.fonts.mono, context.theme.colors.muted,
        fmt::format("{} on “{}”",
                    format_number(static_cast<double>(
                                      rows.weights[row * static_cast<std::size_t>(rows.keys) + static_cast<std::size_t>(hit.hovered->col)]),
                                  {.decimals = 4}),
                    keys[static_cast<std::size_t>(hit.hovered->col)]));
    if (position) text_line(context.ui(), context.theme.fonts.label, context.theme.colors.faint, "click: open this head step by step");
    end_tooltip();
}

}  // namespace

void draw_write_cell(PanelContext& context) {
    const bool hidden = reads_both_ways(context) && hidden_position(context.snapshot, context.view);
    const auto& [colors, fonts, scale] = context.theme;
    if (reads_both_ways(context) && !hidden && context.structure().config.lm_head) {
        section_heading(context.ui(), "Where the heads look");
        return paragraph(context.ui(), fonts.label, colors.faint, "Hide a word to see the weights of every head at its position.");
    }
    if (!can_write(context) && !hidden) return;
    const std::int64_t position = asked_position(context);
    section_heading(context.ui(), "Where the heads look");
    const Stack stack = context.structure().config.architecture == Architecture::EncoderDecoder ? Stack::Decoder : Stack::Main;
    const std::string word = index_label(context, {Stage::Tokens, -1, stack}, Axis::T, position);
    const auto answer = context.ask(facet::HeadRows{std::max<std::int64_t>(context.view.batch, 0), position});
    HeadRowsView& view = context.view.head_rows;
    if (answer) keep(context, answer.value, word, view);
    // Rows of an earlier moment of the same model are shown until the new ones are ready.
    if (!answer && view.last != nullptr && view.config != context.structure().config) view.last = nullptr;
    const bool earlier = !answer && answer.problem.empty() && view.last != nullptr;
    paragraph(context.ui(), fonts.label, colors.muted,
              earlier  ? fmt::format("The weights of every head for “{}”; those for “{}” are being computed.", view.word, word)
              : hidden ? fmt::format("The weights of every head for “{}” at position {}: where the heads look for what {} there.", word,
                                     position, conventions_of(*context.snapshot.state->setup).ids ? "stands" : "is hidden")
                       : fmt::format("The weights of every head for “{}”, the last token so far: they decide what comes next.", word));
    if (!answer.problem.empty()) paragraph(context.ui(), fonts.label, colors.bad, answer.problem);
    if (view.last == nullptr || !answer.problem.empty()) return;
    // One scale for all heads, so that their colours are comparable; in a long text even the largest weight may be small.
    const float largest = std::max(view.last->largest, 0.01F);
    text_line(context.ui(), fonts.caption, colors.faint, fmt::format("colours: 0 to {}", format_number(largest, {.decimals = 2})));
    gap(context.ui(), 6);
    const float height = ImGui::GetContentRegionAvail().y / static_cast<float>(std::max<std::size_t>(view.last->kinds.size(), 1));
    const std::optional<std::int64_t> shown = earlier ? std::nullopt : std::optional(view.last->position);
    for (std::size_t kind = 0; kind < view.last->kinds.size(); ++kind) {
        const HeadRowsOf& rows = view.last->kinds[kind];
        if (rows.cross) text_line(context.ui(), fonts.label, colors.muted, "cross-attention, on the source");
        draw_rows(context, rows, view.keys[kind], shown, height - context.px(24), largest);
    }
}

}  // namespace attn::app
