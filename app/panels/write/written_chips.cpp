#include "app/panels/write/written_chips.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "app/panels/kit/asked_and_shown.hpp"
#include "app/panels/write/writing_actions.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/token_chips.hpp"
#include "app/widgets/value_bar.hpp"

namespace attn::app {
namespace {

constexpr float kChip = 32, kBetween = 5, kChipPadding = 8, kWidest = 150;

/// A chip: a token of the prompt or a generated one.
struct WrittenChip {
    Token token;
    std::int64_t place = kPrompt;  ///< index in the branches; kPrompt: part of the prompt
    bool later = false;            ///< after the shown moment
    std::size_t others = 0;        ///< how many alternatives were generated in its place
    ImVec2 at{0, 0};               ///< relative to the first chip's corner
    float width = 0;
};

std::vector<WrittenChip> chips_of_branch(const PanelContext& context) {
    const Writing& writing = shown_writing(context);
    std::vector<WrittenChip> chips;
    const auto& sequences = context.snapshot.tokens;
    if (sequences.empty() || context.snapshot.state == nullptr) return chips;
    const auto sequence =
        static_cast<std::size_t>(std::clamp<std::int64_t>(context.view.batch, 0, static_cast<std::int64_t>(sequences.size()) - 1));
    // The snapshot may lag behind the document's branches; exclude its generated tokens from the prompt. Those of another text than the
    // document's have no branches any more.
    const Written& shown = context.snapshot.state->setup->written;
    const bool branches = shown.sequence == static_cast<std::int64_t>(sequence) && shows_asked_text(context);
    const auto written = static_cast<std::ptrdiff_t>(branches ? shown.ids.size() : 0);
    const auto& tokens = sequences[sequence];
    const auto end = std::find_if(tokens.begin(), tokens.end(), [](const Token& token) { return token.padding; });
    for (auto token = tokens.begin(); token != end - std::min(written, end - tokens.begin()); ++token) chips.push_back({.token = *token});
    const auto& vocabulary = context.snapshot.vocabulary;
    const std::size_t moment = depth_of(writing, writing.shown);
    const std::vector<std::int64_t> way = way_to(writing, writing.end);
    for (std::size_t i = 0; i < way.size(); ++i) {
        const WrittenToken& one = writing.tokens[static_cast<std::size_t>(way[i])];
        const auto id = static_cast<std::size_t>(one.id);
        WrittenChip chip{.token = {id < vocabulary.size() ? vocabulary[id] : "", one.id, false, false}};
        chip.place = way[i];
        chip.later = i >= moment;
        chips.push_back(chip);
    }
    return chips;
}

/// Counts the alternatives to each token.
void mark_forks(const Writing& writing, std::vector<WrittenChip>& chips) {
    std::vector<std::size_t> continuations(writing.tokens.size() + 1);  // index 0 is for the prompt
    for (const WrittenToken& token : writing.tokens) ++continuations[static_cast<std::size_t>(token.after + 1)];
    for (WrittenChip& chip : chips)
        if (chip.place != kPrompt)
            chip.others = continuations[static_cast<std::size_t>(writing.tokens[static_cast<std::size_t>(chip.place)].after + 1)] - 1;
}

/// The index of the prompt's last token.
std::size_t end_of_prompt(const std::vector<WrittenChip>& chips) {
    const auto written = std::find_if(chips.begin(), chips.end(), [](const WrittenChip& chip) { return chip.place != kPrompt; });
    return static_cast<std::size_t>(std::max<std::ptrdiff_t>(written - chips.begin() - 1, 0));
}

/// Shows a moment and selects its last token as the query for the other views.
void go_to_moment(PanelContext& context, const std::vector<WrittenChip>& chips, std::size_t chip) {
    const std::int64_t place = chips[chip].place;
    context.view.locked.set(Axis::T, static_cast<std::int64_t>(place == kPrompt ? end_of_prompt(chips) : chip));
    if (place != shown_writing(context).shown) context.commands.push_back({command::ShowWritten{place}, ""});
}

/// Lays out the chips in lines; returns the height.
float lay_out_chips(const PanelContext& context, std::vector<WrittenChip>& chips, float width) {
    float x = 0, y = 0;
    for (WrittenChip& chip : chips) {
        const float text = text_width(context.theme.fonts.mono_body, chip_text(chip.token));
        chip.width = std::min(std::ceil(text) + 2 * context.px(kChipPadding), context.px(kWidest));
        if (x > 0 && x + chip.width > width) {
            x = 0;
            y += context.px(kChip + kBetween);
        }
        chip.at = {x, y};
        x += chip.width + context.px(kBetween);
    }
    return chips.empty() ? 0 : y + context.px(kChip);
}

std::string tooltip_of(const PanelContext& context, const WrittenChip& chip) {
    if (chip.place == kPrompt) return "Part of the prompt. Click: go back to before anything was written.";
    const WrittenToken& token = shown_writing(context).tokens[static_cast<std::size_t>(chip.place)];
    std::string words =
        fmt::format("“{}”, id {}\nthe model: {}\n", shown_token(chip.token.text, token.id), token.id, share_words(token.predicted));
    words += token.chance > 0 ? "drawn with: " + share_words(token.chance) : std::string("chosen by hand");
    if (ends_text(context, token.id)) words += "\nAn end token: the model ended its text here.";
    if (chip.others > 0) words += fmt::format("\n{} other{} in its place: see the branches.", chip.others, chip.others == 1 ? "" : "s");
    return words + "\nClick: go back to here; every view then shows the text up to this token.";
}

void draw_chip(const PanelContext& context, const WrittenChip& chip, const Item& item, bool shown) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float rounding = context.px(6);
    const bool written = chip.place != kPrompt;
    list.AddRectFilled(item.min, item.max, item.hovered || (written && !chip.later) ? colors.raised : colors.pane, rounding);
    const bool part = has_part_of_character(chip.token.text);
    if (!part || shown || item.hovered)
        list.AddRect(item.min, item.max,
                     shown          ? colors.chosen
                     : item.hovered ? colors.accent
                                    : colors.line,
                     rounding, 0, context.px(shown ? 2.5F : 1));
    else dashed_rect(context.ui(), list, item.min, item.max, chip.later ? mix(colors.pane, colors.axis_d, 0.5F) : colors.axis_d);
    const Color plain = !written ? colors.muted : chip.later ? colors.faint : colors.text;
    const Color ink = !part ? plain : mix(colors.pane, colors.axis_d, chip.later ? 0.5F : 1);
    draw_text_in(list, fonts.mono_body, item.min, {item.max.x, item.max.y - context.px(written ? 4 : 0)}, {0.5F, 0.5F}, ink,
                 elide(fonts.mono_body, chip_text(chip.token), item.width() - context.px(6)));
    // The model's probability for the token, as in the list of candidates.
    if (written) {
        const double predicted = shown_writing(context).tokens[static_cast<std::size_t>(chip.place)].predicted;
        const float left = item.min.x + context.px(6), right = item.max.x - context.px(6), line = item.max.y - context.px(5);
        value_bar(list, {left, line}, {right, line + context.px(3)}, predicted, chip.later ? colors.faint : colors.accent,
                  context.px(1.5F));
    }
    // A corner mark if alternatives exist.
    if (chip.others > 0)
        list.AddTriangleFilled({item.max.x - context.px(9), item.min.y}, {item.max.x, item.min.y}, {item.max.x, item.min.y + context.px(9)},
                               colors.accent);
    draw_focus_ring(context.ui(), item, rounding);
}

}  // namespace

void step_written(PanelContext& context, std::ptrdiff_t by) {
    const std::vector<WrittenChip> chips = chips_of_branch(context);
    if (chips.empty() || !can_write(context)) return;
    const auto first = static_cast<std::ptrdiff_t>(end_of_prompt(chips)), last = std::ssize(chips) - 1;
    const auto shown = std::find_if(chips.begin() + first, chips.end(),
                                    [&](const WrittenChip& chip) { return chip.place == shown_writing(context).shown; });
    const std::ptrdiff_t now = shown == chips.end() ? first : shown - chips.begin();
    go_to_moment(context, chips, static_cast<std::size_t>(std::clamp(now + by, first, last)));
}

float written_chips_height(const PanelContext& context, float width) {
    std::vector<WrittenChip> chips = chips_of_branch(context);
    return lay_out_chips(context, chips, width - context.px(12)) + context.px(6);
}

/// Scrolls to the shown moment once it has changed or moved; then the user can scroll freely. While the text grows, it takes a frame until
/// there is room to scroll to.
void follow_shown(const WrittenChip& chip, float top, float bottom) {
    ImGuiStorage& memory = *ImGui::GetStateStorage();
    const ImGuiID moment = ImGui::GetID("shown"), line = ImGui::GetID("line");
    const int now = static_cast<int>(chip.place), height = static_cast<int>(chip.at.y);
    if (memory.GetInt(moment, -2) == now && memory.GetInt(line, -1) == height) return;
    const float window = ImGui::GetWindowPos().y, end = window + ImGui::GetWindowHeight();
    if (top < window) return ImGui::SetScrollFromPosY(top - window, 0);
    if (bottom > end) return ImGui::SetScrollFromPosY(bottom - window, 1);
    memory.SetInt(moment, now);
    memory.SetInt(line, height);
}

void draw_written_chips(PanelContext& context) {
    const Writing& writing = shown_writing(context);
    std::vector<WrittenChip> chips = chips_of_branch(context);
    mark_forks(writing, chips);
    const auto later = std::find_if(chips.begin(), chips.end(), [](const WrittenChip& chip) { return chip.later; });
    context.view.drawn.written = {static_cast<std::size_t>(later - chips.begin()),
                                  later == chips.begin() ? -1 : static_cast<std::int32_t>(std::prev(later)->token.id)};
    const ImVec2 pad{context.px(3), context.px(3)}, at{ImGui::GetCursorScreenPos().x + pad.x, ImGui::GetCursorScreenPos().y + pad.y};
    const float height = lay_out_chips(context, chips, ImGui::GetContentRegionAvail().x - 2 * pad.x);
    for (std::size_t i = 0; i < chips.size(); ++i) {
        const WrittenChip& chip = chips[i];
        const bool shown = chip.place == writing.shown && (chip.place != kPrompt || i == end_of_prompt(chips));
        const ImVec2 min{at.x + chip.at.x, at.y + chip.at.y};
        if (shown) follow_shown(chip, min.y - pad.y, min.y + context.px(kChip) + pad.y);
        if (!ImGui::IsRectVisible(min, {min.x + chip.width, min.y + context.px(kChip)})) continue;
        ImGui::PushID(static_cast<int>(i));
        const Item item = item_at(context.ui(), "written", min, {chip.width, context.px(kChip)}, {.explains_itself = true});
        if (item.hovered) tooltip_for_last(context.ui(), tooltip_of(context, chip));
        ImGui::PopID();
        draw_chip(context, chip, item, shown);
        if (item.pressed) go_to_moment(context, chips, i);
    }
    ImGui::SetCursorScreenPos({at.x, at.y});
    ImGui::Dummy({1, height + pad.y});
}

}  // namespace attn::app
