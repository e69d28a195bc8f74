#include "app/panels/frame/strip.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "app/panels/compare/colors.hpp"
#include "app/panels/edit/cell_edit.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/kit/pane.hpp"
#include "app/panels/kit/stage_words.hpp"
#include "app/panels/kit/stations.hpp"
#include "app/panels/maps/equation.hpp"
#include "app/panels/views/stage_walk.hpp"
#include "app/session/values/recording_report.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/hatching.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/shape_text.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/token_chips.hpp"

namespace attn::app {
namespace {

// In logical pixels:
constexpr float kPictures = 112, kNames = 48, kChooser = 212, kChoiceLabel = 42, kStripInset = 14, kThumbnail = 40, kWidestStation = 128,
                kBesideNames = 10, kMapButton = 18;
constexpr std::int64_t kMostButtons = 8;

/// A small button; the chosen one is amber. True if pressed.
bool small_button(PanelContext& context, const char* id, ImVec2 min, ImVec2 size, std::string_view text, bool chosen,
                  std::string_view tooltip) {
    const auto& [colors, fonts, scale] = context.theme;
    const Item item = item_at(context.ui(), id, min, size, {.tooltip = tooltip});
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const Color fill = chosen ? colors.chosen : item.hovered ? mix(colors.raised, colors.text, 0.12F) : colors.raised;
    list.AddRectFilled(item.min, item.max, fill, context.px(5));
    if (!chosen) list.AddRect(item.min, item.max, colors.line, context.px(5));
    draw_text_in(list, fonts.label, item.min, item.max, {0.5F, 0.5F}, chosen ? ink_on(fill) : colors.text, text);
    draw_focus_ring(context.ui(), item, context.px(5));
    return item.pressed;
}

/// A choice among so many: a button for each, or for many a menu between two arrows.
struct Choice {
    const char* label;
    std::int64_t count = 0, chosen = 0;
    std::string_view keys;
};

/// Returns what is chosen now.
std::int64_t draw_choice(PanelContext& context, const Choice& choice, ImVec2 at, float height) {
    const auto& [colors, fonts, scale] = context.theme;
    const Ui ui = context.ui();
    std::int64_t now = choice.chosen;
    ImGui::PushID(choice.label);
    draw_text_in(*ImGui::GetWindowDrawList(), fonts.label, at, {at.x + context.px(kChoiceLabel), at.y + height}, {0, 0.5F}, colors.muted,
                 choice.label);
    const float left = at.x + context.px(kChoiceLabel), room = context.px(kChooser - kChoiceLabel - 8), gap = context.px(4);
    if (choice.count <= kMostButtons) {
        const auto count = static_cast<float>(choice.count);
        const float width = std::floor(std::min(context.px(32), (room - gap * (count - 1)) / count));
        for (std::int64_t i = 0; i < choice.count; ++i) {
            ImGui::PushID(static_cast<int>(i));
            if (small_button(context, "##one", {left + static_cast<float>(i) * (width + gap), at.y}, {width, height}, std::to_string(i),
                             i == choice.chosen, fmt::format("{} {}\n{}", choice.label, i, choice.keys)))
                now = i;
            ImGui::PopID();
        }
    } else {
        const float arrow = context.px(24);
        if (small_button(context, "##before", {left, at.y}, {arrow, height}, "‹", false, choice.keys)) now = choice.chosen - 1;
        if (small_button(context, "##after", {left + room - arrow, at.y}, {arrow, height}, "›", false, choice.keys))
            now = choice.chosen + 1;
        ImGui::SetCursorScreenPos({left + arrow + gap, at.y + (height - context.px(30)) / 2});
        if (begin_menu_button(ui, "##all", fmt::format("{} of {}", choice.chosen, choice.count), (room - 2 * (arrow + gap)) / scale,
                              {.tooltip = choice.keys})) {
            for (std::int64_t i = 0; i < choice.count; ++i)
                if (menu_item(ui, fmt::format("{} {}", choice.label, i), i == choice.chosen)) now = i;
            end_menu_button();
        }
    }
    ImGui::PopID();
    return std::clamp<std::int64_t>(now, 0, std::max<std::int64_t>(choice.count - 1, 0));
}

void choose_layer(PanelContext& context, std::int64_t chosen, std::int64_t now) {
    if (now != chosen) go_to_layer(context.view, context.structure(), static_cast<int>(now));
}

/// What the arrow keys do in the view that is open; "" if they do nothing.
std::string_view words_of_keys(const ViewState& view) {
    if (view.lesson.open()) return "← → page of the lesson   ↑ ↓ layer";
    switch (view.view) {
    case View::Step:
        return "← → stage   ↑ ↓ layer   [ ] head";
    case View::Heads:
    case View::Grid:
    case View::KnockOut:
        return "← → head   ↑ ↓ layer";
    case View::Lines:
    case View::Lens:
        return "← → word   ↑ ↓ layer";
    case View::Totals:
        return "← → word   ↑ ↓ up to layer";
    case View::Write:
        return "← → moment   [ ] head";
    case View::Precision:
        return "↑ ↓ tensor";
    case View::Train:
    case View::Doctor:
        return "";
    }
    return "";
}

/// Layer and head, and in an encoder-decoder which of the two, from the top of the strip down.
void draw_chooser(PanelContext& context, ImVec2 at, float height) {
    const auto& [colors, fonts, scale] = context.theme;
    ViewState& view = context.view;
    const Structure& structure = context.structure();
    const bool low = height < context.px(kPictures), two = structure.config.architecture == Architecture::EncoderDecoder;
    const bool stacks = two && structure.config.layers_of(Stack::Encoder) > 0 && !low;
    const float row = context.px(low ? 20 : stacks ? 24 : 28), gap = context.px(low ? 3 : stacks ? 6 : 8);
    float y = at.y + context.px(low ? 3 : 10);
    if (stacks) {
        static constexpr std::array<std::pair<Stack, std::string_view>, 2> kStacks = {
            {{Stack::Encoder, "encoder"}, {Stack::Decoder, "decoder"}}};
        float x = at.x + context.px(kChoiceLabel);
        const float width = std::floor(context.px(kChooser - kChoiceLabel - 12) / 2);
        for (const auto& [stack, name] : kStacks) {
            if (small_button(context, name.data(), {x, y}, {width, row}, name, view.stage.stack == stack,
                             stack == Stack::Encoder ? "Reads the source." : "Writes the target, and looks at the source.") &&
                view.stage.stack != stack) {
                StageId there = view.stage;
                there.stack = stack;
                there.layer = std::max(there.layer, 0);
                there.attention = kSelfAttention;
                if (!context.has_stage(there)) there = {Stage::Weights, 0, stack};
                view.stage = there;
            }
            x += width + context.px(4);
        }
        y += row + gap;
    }
    const std::int64_t layer = std::max(view.stage.layer, 0);
    choose_layer(
        context, layer,
        draw_choice(context, {"layer", structure.config.layers_of(view.stage.stack), layer, "↑ and ↓ change the layer."}, {at.x, y}, row));
    y += row + gap;
    view.head = draw_choice(context, {"head", head_count(structure), view.head, "[ and ] change the head."}, {at.x, y}, row);
    if (!low && !stacks)
        draw_text(*ImGui::GetWindowDrawList(), fonts.caption, {at.x, y + row + context.px(7)}, colors.faint, words_of_keys(view));
}

/// The first tokens of the sequence as small chips, since tokens have no numeric picture.
void draw_token_thumbnail(const PanelContext& context, ImDrawList& list, ImVec2 min, ImVec2 max, Stack stack) {
    const TokenBatch& batch = context.structure().tokens_of(stack);
    const auto& texts = context.snapshot.texts_of(stack);
    if (texts.empty()) return;
    const auto& row = texts[static_cast<std::size_t>(std::min(context.view.batch, batch.size() - 1))];
    const std::size_t lines = max.y - min.y < context.px(30) ? 1 : 3;
    const float height = (max.y - min.y) / static_cast<float>(lines), width = std::min(max.x - min.x, context.px(56));
    for (std::size_t i = 0; i < row.size() && i < lines; ++i) {
        const float y = min.y + height * static_cast<float>(i);
        const ImVec2 low{min.x, y + context.px(1)}, high{min.x + width, y + height - context.px(1)};
        list.AddRectFilled(low, high, context.theme.colors.raised, context.px(3));
        const std::string text = elide(context.theme.fonts.mono_tiny, chip_text(row[i]), high.x - low.x - context.px(8));
        draw_text_in(list, context.theme.fonts.mono_tiny, {low.x + context.px(4), low.y}, high, {0, 0.5F}, context.theme.colors.text, text);
    }
}

/// For a large model, only stages computed for the current view get a thumbnail; nothing is computed for it.
void draw_thumbnail(PanelContext& context, ImDrawList& list, ImVec2 min, ImVec2 max, const StageId& id) {
    if (id.stage == Stage::Tokens) return draw_token_thumbnail(context, list, min, max, id.stack);
    if (!context.snapshot.is_whole() && id.layer != context.view.stage.layer) return;
    const Matrix matrix = context.beside(id, context.view.head);
    if (matrix.empty()) return;
    // Keeps the map's aspect ratio within limits, and the map within a narrow station.
    const float height = max.y - min.y;
    const float aspect = static_cast<float>(matrix.data.cols) / static_cast<float>(std::max<std::int64_t>(matrix.data.rows, 1));
    const float width = std::min(std::clamp(height * aspect, height * 0.4F, height * 1.6F), max.x - min.x);
    context.canvas.heatmap(list, min, {min.x + width, max.y}, {matrix.data, style_of(context, matrix, id)});
    draw_edited_corner(context, matrix, min, {min.x + width, max.y});
    list.AddRect(min, {min.x + width, max.y}, context.theme.colors.line);
}

/// The stage that a station shows or would show, and which of its stages that is.
struct ShownStage {
    bool current = false;
    std::size_t place = 0;
};

ShownStage shown_stage(const Station& station, const StageId& at) {
    const auto place_of = [&](const StageId& id) {
        return static_cast<std::size_t>(std::find(station.stages.begin(), station.stages.end(), id) - station.stages.begin());
    };
    if (const std::size_t now = place_of(at); now < station.stages.size()) return {true, now};
    return {false, place_of(station.opens)};
}

/// Few lines, so that they stand above the row without hiding the picture.
std::string station_tooltip(const PanelContext& context, const Station& station) {
    std::string text = station_heading(station, token_noun(context.snapshot));
    for (const StageId& id : station.stages) {
        if (id.stage == Stage::Other) continue;
        text += fmt::format("{}{}: {} ", station.stages.size() == 1 ? " · " : "\n", stage_symbol(id.stage), tensor_name(id));
        for (const ColoredText& run : shape_runs(context.theme, context.structure().shape_of(id))) text += run.text;
    }
    if (station.stages.size() > 1) text += "\nA click on the chosen one goes to the next of them.";
    return text + station.lacks;
}

/// A dot for each of several stages, the shown one filled.
void draw_dots(const PanelContext& context, ImVec2 at, std::size_t count, std::optional<std::size_t> shown) {
    const Palette& colors = context.theme.colors;
    for (std::size_t i = 0; i < count; ++i)
        ImGui::GetWindowDrawList()->AddCircleFilled({at.x + context.px(2.5F + 8 * static_cast<float>(i)), at.y}, context.px(2),
                                                    shown == i ? colors.chosen : colors.line, 8);
}

/// Stations that recorded code has, but whose numbers are not to be had, where they belong in the row.
void add_missing(PanelContext& context, std::vector<Station>& stations) {
    if (!context.document.recorded) return;
    const auto report = context.ask(facet::RecordingReport{});
    const auto layer = static_cast<std::size_t>(std::max(context.view.stage.layer, 0));
    if (!report || layer >= report->attentions.size()) return;
    for (const RecordingReport::Missing& missing : report->attentions[layer].missing) {
        const StationKind kind = station_kind(missing.id.stage);
        const auto after = std::find_if(stations.begin(), stations.end(), [&](const Station& one) {
            return one.kind >= kind && (one.kind != StationKind::GoesOn || station_kind(one.opens.stage) >= kind);
        });
        const bool is_shown = after != stations.end() && (after->kind == kind || station_kind(after->opens.stage) == kind);
        if (is_shown && after->missing.empty()) after->lacks += fmt::format("\nWithout {}: {}", missing.name, missing.why);
        else if (is_shown) after->name += ", " + missing.name;
        else stations.insert(after, Station{.kind = kind, .attention = missing.id.attention, .name = missing.name, .missing = missing.why});
    }
}

/// A hatched place in the row.
void draw_missing_station(PanelContext& context, const Station& station, std::size_t index, ImVec2 at, ImVec2 size, float thumbnail) {
    const auto& [colors, fonts, scale] = context.theme;
    ImGui::PushID(static_cast<int>(index));
    const Item item = item_at(context.ui(), "##missing_station", at, size,
                              {.tooltip = fmt::format("{}: {}", station.name, station.missing), .keyboard = false});
    ImGui::PopID();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const bool pictures = thumbnail > 0;
    const float left = at.x + context.px(pictures ? 6 : 4), room = size.x - context.px(pictures ? 8 : 6);
    float y = at.y + context.px(pictures ? 8 : 5);
    if (pictures) {
        const ImVec2 end{left + std::min(context.px(thumbnail), room), y + context.px(thumbnail)};
        draw_hatching(list, context.theme, {left, y}, end);
        list.AddRect({left, y}, end, colors.line);
        y += context.px(thumbnail + 5);
    }
    const std::string words = station.kind == StationKind::Other ? station.name : station_name(station, token_noun(context.snapshot));
    draw_text(list, fonts.label, {left, y}, item.hovered ? colors.muted : colors.faint, elide(fonts.label, words, room));
    y += context.px(pictures ? 17 : 16);
    draw_text(list, fonts.mono_tiny, {left, y}, colors.faint, elide(fonts.mono_tiny, station.name, room));
}

/// `thumbnail`: height of its picture in logical pixels; 0: without. True if pressed.
bool draw_station(PanelContext& context, const Station& station, std::size_t index, ImVec2 at, ImVec2 size, float thumbnail) {
    const auto& [colors, fonts, scale] = context.theme;
    const ShownStage shown = shown_stage(station, context.view.stage);
    const StageId& id = station.stages[shown.place];
    ImGui::PushID(static_cast<int>(index));
    const Item item = item_at(context.ui(), "##station", at, size, {.tooltip = station_tooltip(context, station)});
    ImGui::PopID();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    if (shown.current || item.hovered) list.AddRectFilled(item.min, item.max, colors.raised, context.px(8));
    if (shown.current) list.AddRect(item.min, item.max, colors.chosen, context.px(8), 0, context.px(2));
    draw_focus_ring(context.ui(), item, context.px(8));
    const bool pictures = thumbnail > 0;
    const float left = at.x + context.px(pictures ? 6 : 4), room = size.x - context.px(pictures ? 8 : 6);
    float y = at.y + context.px(pictures ? 8 : 5);
    if (pictures) {
        draw_thumbnail(context, list, {left, y}, {left + room, y + context.px(thumbnail)}, id);
        y += context.px(thumbnail + 5);
    }
    const std::string name = station_name(station, token_noun(context.snapshot)), code = id.stage == Stage::Other ? "" : stage_name(id);
    const Color ink = shown.current ? colors.text : colors.muted;
    ImFont* const font = text_width(fonts.label, name) <= room ? fonts.label : fonts.caption;
    draw_text(list, font, {left, y}, ink, elide(font, name, room));
    y += context.px(pictures ? 17 : 16);
    draw_text(list, fonts.mono_tiny, {left, y}, shown.current ? colors.text : colors.faint, elide(fonts.mono_tiny, code, room));
    if (pictures && station.stages.size() > 1)
        draw_dots(context, {left, y + context.px(18)}, station.stages.size(), shown.current ? std::optional(shown.place) : std::nullopt);
    return item.pressed;
}

/// Shows a stage. Views of maps stay open for a map; others switch to the Step view.
void show_stage(PanelContext& context, const StageId& id) {
    ViewState& view = context.view;
    view.stage = id;
    view.token_path.stage.reset();
    view.playing = false;
    const bool of_many = view.view == View::Heads || view.view == View::Grid || view.view == View::Lines;
    if (of_many && is_attention_map(id.stage)) view.heads.stage = id.stage;
    else view.view = View::Step;
}

/// In a decoder's layer, which of its two attentions is shown; a click shows the weights of that one.
void draw_attentions(PanelContext& context, std::uint8_t shown, ImVec2 at) {
    const float width = context.px(150), height = context.px(20);
    for (const auto& [attention, name] :
         {std::pair(kSelfAttention, "looks at itself"), std::pair(kCrossAttention, "looks at the source")}) {
        if (small_button(context, name, at, {width, height}, name, attention == shown,
                         attention == kSelfAttention ? "The decoder's attention to the words already written."
                                                     : "The decoder's attention to the words of the source.") &&
            attention != shown)
            show_stage(context, {Stage::Weights, std::max(context.view.stage.layer, 0), context.view.stage.stack, attention});
        at.x += width + context.px(4);
    }
}

/// How wide each station is: alike, or where some name would be cut, as its names need it. Of a station of several stages the longest
/// counts, so that nothing moves from one to the next.
std::vector<float> station_widths(const PanelContext& context, const std::vector<Station>& stations, float width, bool pictures) {
    if (stations.empty()) return {};
    const Fonts& fonts = context.theme.fonts;
    const float count = static_cast<float>(stations.size()), beside = context.px(kBesideNames);
    std::vector<float> alike(stations.size(), std::floor(std::min(width / count, context.px(kWidestStation)))), needed;
    for (const Station& station : stations) {
        float widest =
            text_width(fonts.label, station.missing.empty() ? station_name(station, token_noun(context.snapshot)) : station.name);
        for (const StageId& id : station.stages)
            if (id.stage != Stage::Other) widest = std::max(widest, text_width(fonts.mono_tiny, stage_name(id)));
        needed.push_back(widest + beside);
    }
    const float all = std::accumulate(needed.begin(), needed.end(), 0.F);
    if (pictures || all > width || *std::max_element(needed.begin(), needed.end()) <= alike.front()) return alike;
    const float more = std::min((width - all) / count, context.px(kWidestStation));
    for (float& one : needed) one = std::floor(one + more);
    return needed;
}

/// The stations of the shown attention of the shown layer, side by side.
void draw_stations(PanelContext& context, ImVec2 at, float width, float height, bool pictures) {
    const Plan& plan = *context.structure().plan;
    const StageId now = context.view.stage;
    const std::vector<Station> all = stations_of(plan, now, false);
    std::vector<Station> shown = stations_of(plan, now, true);
    add_missing(context, shown);
    const std::vector<float> widths = station_widths(context, shown, width, pictures);
    float top = at.y + context.px(pictures ? 6 : 3), thumbnail = pictures ? kThumbnail : 0;
    const float bottom = at.y + height - context.px(pictures ? 6 : 3);
    if (pictures && last_attention(all) != kSelfAttention) {
        draw_attentions(context, last_attention(shown), {at.x, top});
        top += context.px(22);
        thumbnail -= 22;
    }
    float x = at.x;
    for (std::size_t i = 0; i < shown.size(); ++i) {
        const ImVec2 corner{x, top}, size{widths[i] - context.px(3), bottom - top};
        x += widths[i];
        if (!shown[i].missing.empty()) {
            draw_missing_station(context, shown[i], i, corner, size, thumbnail);
            continue;
        }
        if (!draw_station(context, shown[i], i, corner, size, thumbnail)) continue;
        const ShownStage stage = shown_stage(shown[i], now);
        if (stage.current && shown[i].kind == StationKind::Words && context.view.view == View::Step) {
            go_round_text(context);
            continue;
        }
        const std::size_t next =
            stage.current && context.view.view == View::Step ? (stage.place + 1) % shown[i].stages.size() : stage.place;
        show_stage(context, shown[i].stages[next]);
    }
}

/// Opens the map of the model above the stages, or closes it.
void draw_map_button(PanelContext& context, ImVec2 at, float height) {
    const auto& [colors, fonts, scale] = context.theme;
    const bool open = opens_map(context.view.panes, ImGui::GetIO().DisplaySize.y / scale);
    const ImVec2 min{at.x, at.y + context.px(10)}, size{context.px(kMapButton), height - context.px(20)};
    const Item item = item_at(context.ui(), "##map_button", min, size,
                              {.tooltip = open ? "Closes the map of the model (4)." : "The whole model as blocks to go to (4)."});
    ImDrawList& list = *ImGui::GetWindowDrawList();
    if (item.hovered) list.AddRectFilled(item.min, item.max, colors.raised, context.px(5));
    draw_icon(list, open ? Icon::Down : Icon::Up, {(item.min.x + item.max.x) / 2, (item.min.y + item.max.y) / 2}, context.px(9),
              item.hovered ? colors.text : colors.muted);
    draw_focus_ring(context.ui(), item, context.px(5));
    if (item.pressed) toggle_map(context);
}

void draw_strip(PanelContext& context, float logical_height, bool pictures) {
    if (!context.ready()) return;
    const ImVec2 corner = ImGui::GetWindowPos(), size = ImGui::GetWindowSize();
    const float height = context.px(logical_height), inset = context.px(kStripInset);
    // The map of the model, if it is open, has the room above.
    ImVec2 at{corner.x + inset, corner.y + size.y - height};
    draw_chooser(context, at, height);
    at.x += context.px(kChooser);
    ImGui::GetWindowDrawList()->AddLine({at.x, at.y + context.px(10)}, {at.x, at.y + height - context.px(10)}, context.theme.colors.line);
    at.x += context.px(4);
    draw_map_button(context, at, height);
    at.x += context.px(kMapButton + 4);
    draw_stations(context, at, corner.x + size.x - inset - at.x, height, pictures);
}

}  // namespace

void draw_strip_with_pictures(PanelContext& context) { draw_strip(context, kPictures, true); }

void draw_strip_with_names(PanelContext& context) { draw_strip(context, kNames, false); }

void draw_strip_line(PanelContext& context) {
    if (!context.ready()) return;
    const auto& [colors, fonts, scale] = context.theme;
    const Ui ui = context.ui();
    ViewState& view = context.view;
    const Structure& structure = context.structure();
    const ImVec2 corner = ImGui::GetWindowPos(), size = ImGui::GetWindowSize();
    float x = corner.x + context.px(8);
    const auto menu = [&](const char* label, std::int64_t count, std::int64_t chosen) {
        ImGui::SetCursorScreenPos({x, corner.y + context.px(1)});
        x += context.px(92 + 6);
        std::int64_t now = chosen;
        if (begin_menu_button(ui, label, fmt::format("{} {}", label, chosen), 92)) {
            for (std::int64_t i = 0; i < count; ++i)
                if (menu_item(ui, fmt::format("{} {}", label, i), i == chosen)) now = i;
            end_menu_button();
        }
        return now;
    };
    const std::int64_t layer = std::max(view.stage.layer, 0);
    choose_layer(context, layer, menu("layer", structure.config.layers_of(view.stage.stack), layer));
    view.head = menu("head", head_count(structure), view.head);
    const std::vector<Station> stations = stations_of(*structure.plan, view.stage, true);
    const std::size_t at = station_with(stations, view.stage);
    const std::string words = station_name(stations[at], token_noun(context.snapshot)),
                      place = fmt::format("{} of {}", at + 1, stations.size());
    const float arrow = context.px(32), right = corner.x + size.x - context.px(8);
    const auto step = [&](const char* id, Icon icon, float left, int direction, std::string_view tooltip) {
        const Item item = item_at(ui, id, {left, corner.y}, {arrow, size.y}, {.tooltip = tooltip});
        draw_icon(*ImGui::GetWindowDrawList(), icon, {left + arrow / 2, corner.y + size.y / 2}, context.px(11),
                  item.hovered ? context.theme.colors.text : context.theme.colors.muted);
        draw_focus_ring(ui, item, context.px(6));
        if (!item.pressed) return;
        if (const PlanNode* next = next_station(*structure.plan, view.stage, direction)) show_stage(context, next->id);
    };
    step("##back", Icon::Previous, x + context.px(8), -1, "The stage before (Left)");
    step("##on", Icon::Next, right - arrow, +1, "The next stage (Right)");
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float width = text_width(fonts.strong, words) + context.px(12) + text_width(fonts.caption, place);
    const float left = x + (right - x - width) / 2;
    draw_text_in(list, fonts.strong, {left, corner.y}, {right, corner.y + size.y}, {0, 0.5F}, colors.text, words);
    draw_text_in(list, fonts.caption, {left + width - text_width(fonts.caption, place), corner.y}, {right, corner.y + size.y}, {0, 0.5F},
                 colors.muted, place);
}

}  // namespace attn::app
