#include "app/panels/write/branch_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/panels/write/writing_actions.hpp"
#include "app/session/states/kept_tokenizer.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/shown_text.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/token_chips.hpp"

namespace attn::app {
namespace {

constexpr float kBranch = 46, kBranchButtons = 104;
/// This many tokens are enough to tell branches apart on one line.
constexpr std::size_t kTold = 24;

/// A branch as listed.
struct Branch {
    std::int64_t end = kPrompt, leaves_at = kPrompt;  ///< its last token, and the last one it shares with the shown branch
    std::size_t length = 0;
    double surprise = 0;  ///< mean of -ln p over its tokens
};

Branch branch_to(const Writing& writing, std::int64_t end) {
    Branch branch{.end = end};
    std::size_t likely = 0;
    for (const std::int64_t place : way_to(writing, end)) {
        ++branch.length;
        if (leads_through(writing, writing.end, place)) branch.leaves_at = place;
        const double predicted = writing.tokens[static_cast<std::size_t>(place)].predicted;
        if (!(predicted > 0)) continue;
        branch.surprise -= std::log(predicted);
        ++likely;
    }
    if (likely > 0) branch.surprise /= static_cast<double>(likely);
    return branch;
}

/// The words after `before`; if they do not fit, the first few and the last ones with "…" between them. Words are not cut.
std::string words_that_fit(const ImFont* font, std::string before, const std::vector<std::string>& words, float room) {
    const std::string all = fmt::format("{}{}", before, fmt::join(words, ""));
    if (text_width(font, all) <= room) return all;
    std::string begin = std::move(before), end = "…";
    std::size_t first = 0, last = words.size();
    while (first < last && text_width(font, begin + words[first] + end) <= room / 2) begin += words[first++];
    while (last > first && text_width(font, begin + words[last - 1] + end) <= room) end.insert(std::string_view("…").size(), words[--last]);
    return begin == "…" ? end : begin + end;
}

/// The text from where it leaves the shown branch; for the shown branch, its end. Shortened to `room` pixels.
std::string words_of_branch(const PanelContext& context, const Branch& branch, float room) {
    const Writing& writing = shown_writing(context);
    const std::string between(conventions_of(context.document).between);
    const std::vector<std::int64_t> way = way_to(writing, branch.end);
    std::size_t first = depth_of(writing, branch.leaves_at);
    if (first == way.size()) first = way.size() - std::min(way.size(), kTold);
    std::vector<std::string> words;
    for (std::size_t i = first; i < way.size(); ++i) {
        if (i == first + kTold && way.size() - i > kTold) {
            words.emplace_back("…");
            i = way.size() - kTold;  // only the ends can be seen
        }
        const std::int32_t id = writing.tokens[static_cast<std::size_t>(way[i])].id;
        words.push_back((i > first ? between : "") + shown_token(context.snapshot.vocabulary, id));
    }
    return words_that_fit(context.theme.fonts.mono, first == 0 ? "" : "…", words, room);
}

void draw_branch(PanelContext& context, const Branch& branch, std::size_t number) {
    const auto& [colors, fonts, scale] = context.theme;
    const Ui ui = context.ui();
    const Writing& writing = shown_writing(context);
    const bool looked_at = branch.end == writing.end;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x, buttons = context.px(kBranchButtons), height = context.px(kBranch);
    ImGui::PushID(static_cast<int>(branch.end));
    const Item item = begin_item(ui, "##branch", {width - buttons, height}, {.explains_itself = true});
    ImDrawList& list = *ImGui::GetWindowDrawList();
    if (item.hovered) list.AddRectFilled(item.min, item.max, colors.raised, context.px(6));
    if (looked_at)
        list.AddRectFilled({item.min.x, item.min.y + context.px(6)}, {item.min.x + context.px(3), item.max.y - context.px(6)},
                           colors.chosen);
    const float left = item.min.x + context.px(12), line = item.min.y + height * 0.5F;
    draw_text_in(list, fonts.mono, {left, item.min.y}, {item.max.x, line + context.px(4)}, {0, 0.5F},
                 looked_at ? colors.text : colors.muted, words_of_branch(context, branch, item.max.x - left - context.px(6)));
    const std::string surprise = format_number(branch.surprise, {.decimals = 2, .fixed = true});
    std::string about =
        fmt::format("branch {} · {} token{} · mean −ln p {}", number, branch.length, branch.length == 1 ? "" : "s", surprise);
    if (text_width(fonts.caption, about) > item.max.x - left) about = fmt::format("branch {} · mean −ln p {}", number, surprise);
    draw_text_in(list, fonts.caption, {left, line}, item.max, {0, 0.5F}, colors.faint, elide(fonts.caption, about, item.max.x - left));
    draw_focus_ring(ui, item, context.px(6));
    if (item.pressed) context.commands.push_back({command::ShowWritten{branch.end}, ""});
    ImGui::SetCursorScreenPos({at.x + width - buttons + context.px(4), at.y + context.px(8)});
    if (!looked_at &&
        button(ui, "compare",
               {.width = 68, .notes = {.tooltip = "Pins it as A, cut to the length shown, and compares: scores, weights, every stage."}}))
        compare_with_branch(context, branch.end);
    ImGui::SetCursorScreenPos({at.x + width - context.px(28), at.y + context.px(8)});
    if (button(ui, "##forget",
               {.look = ButtonLook::Flat,
                .width = 28,
                .icon = Icon::Close,
                .notes = {.tooltip = "Deletes the tokens that only this branch has."}})) {
        // Tokens shared with other branches are kept.
        std::int64_t first = branch.end;
        while (first != kPrompt) {
            const std::int64_t before = writing.tokens[static_cast<std::size_t>(first)].after;
            if (before == kPrompt || continuations(writing, before).size() > 1) break;
            first = before;
        }
        context.commands.push_back({command::ForgetWritten{first}, ""});
    }
    ImGui::PopID();
    ImGui::SetCursorScreenPos({at.x, at.y + height + context.px(2)});
}

}  // namespace

void draw_branches(PanelContext& context) {
    const auto& [colors, fonts, scale] = context.theme;
    const Writing& writing = shown_writing(context);
    section_heading(context.ui(), "Branches");
    if (writing.tokens.empty()) {
        paragraph(context.ui(), fonts.label, colors.faint, "None yet. Each different continuation is a branch, and all are kept.");
        return;
    }
    std::size_t number = 0;
    for (const std::int64_t end : branch_ends(writing)) draw_branch(context, branch_to(writing, end), ++number);
    if (writing.tokens.size() > 1 || writing.shown != kPrompt) {
        gap(context.ui(), 6);
        paragraph(context.ui(), fonts.caption, colors.faint,
                  "Masks and edits apply while writing, so you can compare a branch written without a head to one written with it.");
    }
}

}  // namespace attn::app
