#include "app/panels/actions/palette.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include "app/widgets/controls.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/text_field.hpp"

namespace attn::app {
namespace {

constexpr float kWidth = 660, kLine = 32, kPadding = 14;
constexpr int kMostLines = 12;
constexpr std::size_t kMostRecent = 8;

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

bool begins_word(std::string_view name, std::size_t at) { return at == 0 || std::isalnum(static_cast<unsigned char>(name[at - 1])) == 0; }

/// Minimum score per letter; below it, the letters are scattered over the name and do not count as a match.
constexpr int kLeastPerLetter = 5;

/// Scores a word letter by letter; consecutive letters and beginnings of words count more.
std::optional<int> score_word(std::string_view word, std::string_view name) {
    int best = -1;
    for (std::size_t start = 0; start < name.size(); ++start) {
        if (lower(name[start]) != lower(word.front())) continue;
        int score = begins_word(name, start) ? 8 : 0;
        std::size_t at = start, i = 1;
        for (std::size_t next = start + 1; i < word.size() && next < name.size(); ++next) {
            if (lower(name[next]) != lower(word[i])) continue;
            const bool adjacent = next == at + 1;
            score += adjacent ? 6 : begins_word(name, next) ? 4 : -static_cast<int>(std::min<std::size_t>(next - at, 4));
            at = next;
            ++i;
        }
        if (i == word.size() && score >= kLeastPerLetter * static_cast<int>(word.size() - 1)) best = std::max(best, std::max(score, 0));
    }
    if (best < 0) return std::nullopt;
    return best;
}

std::vector<std::string_view> words_of_query(std::string_view typed) {
    std::vector<std::string_view> words;
    while (true) {
        const std::size_t begin = typed.find_first_not_of(' ');
        if (begin == std::string_view::npos) return words;
        typed.remove_prefix(begin);
        words.push_back(typed.substr(0, typed.find(' ')));
        typed.remove_prefix(words.back().size());
    }
}

/// Whether a word of `text` begins with `word`.
bool has_word(std::string_view text, std::string_view word) {
    for (std::size_t at = 0; at + word.size() <= text.size(); ++at) {
        if (!begins_word(text, at)) continue;
        if (std::equal(word.begin(), word.end(), text.begin() + static_cast<std::ptrdiff_t>(at),
                       [](char a, char b) { return lower(a) == lower(b); }))
            return true;
    }
    return false;
}

/// Whether every typed word is the beginning of one of the action's words or synonyms.
bool is_meant(const Action& action, std::string_view typed) {
    const std::string text = action.group + " " + action.name + " " + action.also;
    const std::vector<std::string_view> words = words_of_query(typed);
    return std::all_of(words.begin(), words.end(), [&](std::string_view word) { return has_word(text, word); });
}

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
std::string_view unsaid(const PanelContext& context, const Action& action, float width) {
    const bool cut = text_width(context.theme.fonts.body, action.name) > name_room(context, action, width);
    return !action.detail.empty() || !cut ? action.detail : action.name;
}

/// A line with group, name and key.
Item draw_line(const PanelContext& context, const Action& action, int index, float width) {
    const auto& [colors, fonts, scale] = context.theme;
    ImGui::PushID(index);
    const Item item = begin_item(context.ui(), "line", {width, context.px(kLine)}, {.explains_itself = true});
    ImGui::PopID();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const bool chosen = context.view.palette.chosen == index;
    if (chosen || item.hovered)
        list.AddRectFilled(item.min, item.max, chosen ? with_alpha(colors.accent, 0.18F) : with_alpha(colors.text, 0.06F), context.px(6));
    if (chosen) list.AddRectFilled(item.min, {item.min.x + context.px(3), item.max.y}, colors.accent, context.px(1.5F));
    draw_text_in(list, fonts.label, {item.min.x + context.px(12), item.min.y}, item.max, {0, 0.5F}, colors.faint, action.group);
    draw_text_in(list, fonts.body, {item.min.x + context.px(kNameAt), item.min.y}, item.max, {0, 0.5F}, colors.text,
                 elide(fonts.body, action.name, name_room(context, action, width)));
    if (!action.chords.empty())
        draw_key_cap(context.ui(), list, {item.max.x - key_width(context, action) + context.px(4), item.min.y + context.px(5)},
                     action.chords.front().text());
    draw_focus_ring(context.ui(), item, context.px(6));
    return item;
}

void choose_by_keys(PaletteState& palette, int count) {
    const int before = palette.chosen;
    if (key_pressed(Key::Down)) ++palette.chosen;
    if (key_pressed(Key::Up)) --palette.chosen;
    if (key_pressed(Key::PageDown)) palette.chosen += kMostLines - 1;
    if (key_pressed(Key::PageUp)) palette.chosen -= kMostLines - 1;
    palette.chosen = std::clamp(palette.chosen, 0, std::max(count - 1, 0));
    palette.reveal |= palette.chosen != before;
}

/// Draws the lines that fit, scrolled to the selected one, and below them what the one under the mouse, or else the selected one, does not
/// say. Returns the action to run, nullptr for none.
const Action* draw_lines(PanelContext& context, const std::vector<const Action*>& lines) {
    PaletteState& palette = context.view.palette;
    const float high = context.px(kLine) * static_cast<float>(std::clamp<int>(static_cast<int>(lines.size()), 1, kMostLines));
    const Action *run = nullptr, *explained = lines.empty() ? nullptr : lines[static_cast<std::size_t>(palette.chosen)];
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
    ImGui::BeginChild("##palette_lines", {0, high}, false, ImGuiWindowFlags_NoNav);
    if (lines.empty()) text_line(context.ui(), context.theme.fonts.body, context.theme.colors.muted, "Nothing has that name.");
    const float width = ImGui::GetContentRegionAvail().x;
    for (int i = 0; i < static_cast<int>(lines.size()); ++i) {
        const Action* const action = lines[static_cast<std::size_t>(i)];
        const Item line = draw_line(context, *action, i, width);
        if (line.pressed) run = action;
        if (line.hovered) explained = action;
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

/// Begins the palette's window near the top.
void begin_window(const PanelContext& context) {
    const Palette& colors = context.theme.colors;
    const ImVec2 display = ImGui::GetIO().DisplaySize;
    const float width = std::min(context.px(kWidth), display.x - context.px(24));
    ImGui::SetNextWindowPos({(display.x - width) / 2, std::min(context.px(84), display.y * 0.1F)});
    ImGui::SetNextWindowSize({width, 0});
    ImGui::SetNextWindowFocus();
    ImGui::PushStyleColor(ImGuiCol_WindowBg, colors.pane);
    ImGui::PushStyleColor(ImGuiCol_Border, colors.accent);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, context.px(10));
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {context.px(kPadding), context.px(kPadding)});
    ImGui::Begin("##palette", nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoNav |
                     ImGuiWindowFlags_AlwaysAutoResize);
    ImGui::PopStyleVar(2);
    ImGui::PopStyleColor(2);
}

}  // namespace

void open_palette(PaletteState& palette) {
    palette.open = palette.focus = palette.reveal = true;
    palette.query.clear();
    palette.chosen = 0;
}

std::optional<int> fuzzy_score(std::string_view typed, std::string_view name) {
    int total = 0;
    for (const std::string_view word : words_of_query(typed)) {
        const std::optional<int> score = score_word(word, name);
        if (!score) return std::nullopt;
        total += *score;
    }
    return total;
}

std::vector<const Action*> palette_lines(const PanelContext& context, std::span<const Action> actions) {
    const PaletteState& palette = context.view.palette;
    std::vector<std::pair<int, const Action*>> found;
    for (const Action& action : actions) {
        if (!action.can_run(context)) continue;
        std::optional<int> score = fuzzy_score(palette.query, action.name);
        // Matches including the group rank below matches of the name alone.
        if (!score)
            if (const auto by_group = fuzzy_score(palette.query, action.group + " " + action.name)) score = *by_group - 6;
        const bool meant = is_meant(action, palette.query);
        // Beginnings of words and synonyms count as much as letters of the name.
        if (meant) score = std::max(score.value_or(0), 7 * static_cast<int>(palette.query.size()));
        // Do not offer actions that discard something for an accidental match of letters.
        if (!score || (action.careful && !meant)) continue;
        const int recent = place_among_recent(palette, action.name);
        if (recent >= 0) *score += palette.query.empty() ? 1000 - recent : 2;
        found.emplace_back(*score, &action);
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<const Action*> lines;
    for (const auto& [score, action] : found) lines.push_back(action);
    return lines;
}

void draw_palette(PanelContext& context) {
    PaletteState& palette = context.view.palette;
    if (!palette.open) return;
    begin_window(context);
    if (std::exchange(palette.focus, false)) focus_next_field();
    const std::string before = palette.query;
    bool enter = text_field(context.ui(), "##palette_query", palette.query, "What would you like to do?", -1,
                            {.tooltip = "Type a few letters of its name. Arrows choose, Enter runs it, Esc closes."});
    if (palette.query != before) {
        palette.chosen = 0;
        palette.reveal = true;
    }
    gap(context.ui(), 10);
    const std::vector<Action> all = all_actions(context);
    const std::vector<const Action*> lines = palette_lines(context, all);
    choose_by_keys(palette, static_cast<int>(lines.size()));
    const Action* run = draw_lines(context, lines);
    if (enter && !lines.empty()) run = lines[static_cast<std::size_t>(palette.chosen)];
    const bool outside =
        ImGui::IsMouseClicked(0) && !ImGui::IsWindowHovered(ImGuiHoveredFlags_RootAndChildWindows) && !ImGui::IsWindowAppearing();
    ImGui::End();
    if (run == nullptr) {
        if (outside || enter || key_pressed(Key::Escape, false)) palette.open = false;
        return;
    }
    palette.open = false;
    remember(palette, run->name);
    run->run(context);
}

}  // namespace attn::app
