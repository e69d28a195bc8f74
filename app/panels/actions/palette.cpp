#include "app/panels/actions/palette.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "app/panels/actions/matching.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/text_field.hpp"

namespace attn::app {
namespace {

constexpr float kWidth = 660, kLine = 32, kPadding = 14;
constexpr int kMostLines = 12;
constexpr std::size_t kMostRecent = 8, kNearest = 3;
constexpr int kMostOfKind = 3;

/// Whether only the first few of them are listed, unless their kind is asked for.
bool is_one_of_many(const Action& action) { return action.kind >= ActionKind::Example; }

int place_among_recent(const PaletteState& palette, const std::string& name) {
    const auto found = std::find(palette.recent.begin(), palette.recent.end(), name);
    return found == palette.recent.end() ? -1 : static_cast<int>(found - palette.recent.begin());
}

void remember(PaletteState& palette, const std::string& name) {
    std::erase(palette.recent, name);
    palette.recent.insert(palette.recent.begin(), name);
    if (palette.recent.size() > kMostRecent) palette.recent.pop_back();
}

constexpr float kNameAt = 96;

float key_width(const PanelContext& context, const Action& action) {
    return action.chords.empty() ? 0 : text_width(context.theme.fonts.mono_small, action.chords.front().text()) + context.px(24);
}

/// The room for an action's name in a line of this width.
float name_room(const PanelContext& context, const Action& action, float width) {
    return width - key_width(context, action) - context.px(kNameAt + 8);
}

/// What the line does not say; "" if nothing.
std::string_view unsaid(const PanelContext& context, const PaletteLine& line, float width) {
    const Action& action = *line.action;
    if (!line.can_run) return action.reason();
    const bool cut = text_width(context.theme.fonts.body, action.name) > name_room(context, action, width);
    return !action.detail.empty() || !cut ? action.detail : action.name;
}

/// A line with group, name and key.
Item draw_line(const PanelContext& context, const PaletteLine& line, int index, float width) {
    const auto& [colors, fonts, scale] = context.theme;
    const Action& action = *line.action;
    ImGui::PushID(index);
    const Item item = begin_item(context.ui(), "line", {width, context.px(kLine)}, {.explains_itself = true});
    ImGui::PopID();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const bool chosen = context.view.palette.chosen == index;
    if (chosen || item.hovered)
        list.AddRectFilled(item.min, item.max, chosen ? with_alpha(colors.accent, 0.18F) : with_alpha(colors.text, 0.06F), context.px(6));
    if (chosen) list.AddRectFilled(item.min, {item.min.x + context.px(3), item.max.y}, colors.accent, context.px(1.5F));
    draw_text_in(list, fonts.label, {item.min.x + context.px(12), item.min.y}, item.max, {0, 0.5F}, colors.faint, action.group);
    draw_text_in(list, fonts.body, {item.min.x + context.px(kNameAt), item.min.y}, item.max, {0, 0.5F},
                 line.can_run ? colors.text : colors.faint, elide(fonts.body, action.name, name_room(context, action, width)));
    if (!action.chords.empty())
        draw_key_cap(context.ui(), list, {item.max.x - key_width(context, action) + context.px(4), item.min.y + context.px(5)},
                     action.chords.front().text());
    draw_focus_ring(context.ui(), item, context.px(6));
    return item;
}

void choose_by_keys(PaletteState& palette, int count) {
    const auto move = [&](Key key, int by) {
        if (!key_pressed(key)) return;
        palette.chosen = std::clamp(palette.chosen + by, 0, std::max(count - 1, 0));
        palette.moved = palette.reveal = true;
    };
    move(Key::Down, 1);
    move(Key::Up, -1);
    move(Key::PageDown, kMostLines - 1);
    move(Key::PageUp, -(kMostLines - 1));
    palette.chosen = std::clamp(palette.chosen, 0, std::max(count - 1, 0));
}

/// Draws the lines that fit, scrolled to the selected one, and below them what the one under the mouse, or else the selected one, does not
/// say. Returns the line that was clicked, nullptr for none.
const PaletteLine* draw_lines(PanelContext& context, const std::vector<PaletteLine>& lines) {
    PaletteState& palette = context.view.palette;
    const float high = context.px(kLine) * static_cast<float>(std::clamp<int>(static_cast<int>(lines.size()), 1, kMostLines));
    const PaletteLine *run = nullptr, *explained = lines.empty() ? nullptr : &lines[static_cast<std::size_t>(palette.chosen)];
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
    ImGui::BeginChild("##palette_lines", {0, high}, false, ImGuiWindowFlags_NoNav);
    if (lines.empty()) text_line(context.ui(), context.theme.fonts.body, context.theme.colors.muted, "Nothing has that name. The nearest:");
    const float width = ImGui::GetContentRegionAvail().x;
    for (int i = 0; i < static_cast<int>(lines.size()); ++i) {
        const PaletteLine& line = lines[static_cast<std::size_t>(i)];
        const Item item = draw_line(context, line, i, width);
        if (item.pressed) run = &line;
        if (item.hovered) explained = &line;
        if (palette.reveal && palette.chosen == i && !ImGui::IsItemVisible()) ImGui::SetScrollHereY(0.5F);
    }
    palette.reveal = false;
    fade_scrolled_edges(context.ui());
    ImGui::EndChild();
    ImGui::PopStyleVar(2);
    const std::string_view more = explained == nullptr ? std::string_view() : unsaid(context, *explained, width);
    if (!more.empty()) {
        gap(context.ui(), 8);
        paragraph(context.ui(), context.theme.fonts.label, context.theme.colors.muted, more);
    }
    return run;
}

/// Where nothing was found: what comes nearest, and the search of the help.
void draw_nearest(PanelContext& context, const std::vector<std::string>& nearest) {
    PaletteState& palette = context.view.palette;
    for (const std::string& name : nearest)
        if (link(context.ui(), name.c_str())) palette.query = name;
    if (link(context.ui(), fmt::format("search the help for “{}”", palette.query).c_str())) {
        context.view.help = true;
        context.view.help_page.search = palette.query;
        palette.open = false;
    }
}

/// Begins a window near the top.
void begin_window(const PanelContext& context, const char* id, int flags = 0) {
    const Palette& colors = context.theme.colors;
    const ImVec2 display = ImGui::GetIO().DisplaySize;
    const float width = std::min(context.px(kWidth), display.x - context.px(24));
    ImGui::SetNextWindowPos({(display.x - width) / 2, std::min(context.px(84), display.y * 0.1F)});
    ImGui::SetNextWindowSize({width, 0});
    ImGui::PushStyleColor(ImGuiCol_WindowBg, colors.pane);
    ImGui::PushStyleColor(ImGuiCol_Border, colors.accent);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, context.px(10));
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {context.px(kPadding), context.px(kPadding)});
    ImGui::Begin(id, nullptr,
                 flags | ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                     ImGuiWindowFlags_NoNav | ImGuiWindowFlags_AlwaysAutoResize);
    ImGui::PopStyleVar(2);
    ImGui::PopStyleColor(2);
}

/// The list for what is typed, made anew when that or what is computed has changed.
std::shared_ptr<PaletteList> current_list(const PanelContext& context) {
    PaletteState& palette = context.view.palette;
    const bool stale = palette.list == nullptr || palette.list->serial != context.snapshot.serial;
    if (!stale && palette.list->query == palette.query) return palette.list;
    if (stale) {
        palette.list = std::make_shared<PaletteList>();
        palette.list->all = all_actions(context);
        palette.list->serial = context.snapshot.serial;
    }
    PaletteList& list = *palette.list;
    list.query = palette.query;
    list.lines = palette_lines(context, list.all);
    list.nearest = list.lines.empty() ? nearest_names(list.query, list.all) : std::vector<std::string>();
    return palette.list;
}

/// Whether the command switches or replaces something of the document or the run.
bool is_change(const Command& command) {
    const auto is = [&]<class... What>() { return (std::holds_alternative<What>(command.what) || ...); };
    return is.operator()<command::SetForward, command::SetConfig, command::SetTokenizer, command::SetTexts, command::OpenPreset,
                         command::OpenDocument, command::SetRun, command::ShowUntrained, command::ResetTraining, command::RestartTraining,
                         command::TrainBoth>();
}

/// Runs an action and notes what is to be told of it.
void run_action(PanelContext& context, const Action& action) {
    constexpr double kSeconds = 1.5;
    const auto before = static_cast<std::ptrdiff_t>(context.commands.size());
    action.run(context);
    if (std::any_of(context.commands.begin() + before, context.commands.end(), is_change) && !context.view.lesson.open())
        context.view.palette.told = {action.name, context.now + kSeconds};
}

std::string told_words(const PanelContext& context) {
    const std::string& what = context.view.palette.told.what;
    return context.undone_part.empty() ? fmt::format("Done: {}.", what) : fmt::format("Changed {} ({}).", context.undone_part, what);
}

/// Says for a moment what a line has changed, in the palette's place, and takes it back.
void draw_told(PanelContext& context) {
    ToldAction& told = context.view.palette.told;
    if (context.now >= told.until) return;
    begin_window(context, "##told", ImGuiWindowFlags_NoFocusOnAppearing);
    text_line(context.ui(), context.theme.fonts.body, context.theme.colors.text, told_words(context));
    if (context.can_undo) {
        ImGui::SameLine(0, context.px(14));
        if (link(context.ui(), "Undo##told", "Takes it back (Ctrl+Z).")) {
            context.commands.push_back({command::Undo{}, ""});
            told.until = 0;
        }
    }
    ImGui::End();
}

}  // namespace

void open_palette(PaletteState& palette) {
    palette.open = palette.focus = palette.reveal = true;
    palette.query.clear();
    palette.chosen = 0;
    palette.list = nullptr;
}

std::vector<PaletteLine> palette_lines(const PanelContext& context, std::span<const Action> actions) {
    const PaletteState& palette = context.view.palette;
    struct FoundLine {
        PaletteLine line;
        int rank;
        ActionKind kind;
    };
    std::vector<FoundLine> found;
    for (const Action& action : actions) {
        const bool can_run = action.can_run(context);
        if (!can_run && palette.query.empty()) continue;
        const std::optional<Match> matched = match(action, palette.query);
        if (!matched) continue;
        const int recent = place_among_recent(palette, action.name);
        const int rank = palette.query.empty() && recent >= 0 ? recent - 1000 : matched->rank;
        found.push_back({{&action, !action.careful || matched->in_full, can_run}, rank, recent >= 0 ? ActionKind::Command : action.kind});
    }
    std::stable_sort(found.begin(), found.end(), [](const FoundLine& a, const FoundLine& b) {
        return std::tuple(!a.line.sure, a.rank, a.kind) < std::tuple(!b.line.sure, b.rank, b.kind);
    });
    std::vector<PaletteLine> lines;
    std::array<int, static_cast<std::size_t>(ActionKind::Mistake) + 1> of_kind{};
    for (const FoundLine& one : found) {
        const bool asked_for = one.rank < 0 || palette.query.empty() || match({.name = one.line.action->group}, palette.query);
        if (is_one_of_many(*one.line.action) && !asked_for && ++of_kind.at(static_cast<std::size_t>(one.kind)) > kMostOfKind) continue;
        lines.push_back(one.line);
    }
    return lines;
}

std::vector<std::string> nearest_names(std::string_view typed, std::span<const Action> actions) {
    std::vector<std::pair<int, const Action*>> all;
    for (const Action& action : actions)
        all.emplace_back(slips_between(typed, std::string_view(action.name).substr(0, typed.size() + 2)), &action);
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(kNearest, all.size()));
    std::partial_sort(all.begin(), end, all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> names;
    for (auto one = all.begin(); one != end; ++one) names.push_back(one->second->name);
    return names;
}

void draw_palette(PanelContext& context) {
    PaletteState& palette = context.view.palette;
    if (!palette.open) return draw_told(context);
    ImGui::SetNextWindowFocus();
    begin_window(context, "##palette");
    if (std::exchange(palette.focus, false)) focus_next_field();
    const std::string before = palette.query;
    bool enter = text_field(context.ui(), "##palette_query", palette.query, "What would you like to do?", -1,
                            {.tooltip = "Type a few letters of its name. Arrows choose, Enter runs it, Esc closes."});
    if (palette.query != before) {
        palette.chosen = 0;
        palette.moved = false;
        palette.reveal = true;
    }
    gap(context.ui(), 10);
    const std::shared_ptr<PaletteList> list = current_list(context);
    choose_by_keys(palette, static_cast<int>(list->lines.size()));
    const PaletteLine* run = draw_lines(context, list->lines);
    if (list->lines.empty()) draw_nearest(context, list->nearest);
    if (enter && !list->lines.empty()) {
        const PaletteLine& line = list->lines[static_cast<std::size_t>(palette.chosen)];
        if (line.sure || palette.moved) run = &line;
        palette.focus = true;  // in case it stays open
        enter = false;
    }
    const bool outside =
        ImGui::IsMouseClicked(0) && !ImGui::IsWindowHovered(ImGuiHoveredFlags_RootAndChildWindows) && !ImGui::IsWindowAppearing();
    ImGui::End();
    // What cannot run says why, below the list.
    if (run != nullptr && !run->action->can_run(context)) run = nullptr;
    if (run == nullptr) {
        if (outside || enter || key_pressed(Key::Escape, false)) palette.open = false;
        return;
    }
    palette.open = false;
    remember(palette, run->action->name);
    run_action(context, *run->action);
}

}  // namespace attn::app
