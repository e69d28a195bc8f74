#include "app/panels/write/write_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/panels/kit/notice_place.hpp"
#include "app/panels/kit/part_words.hpp"
#include "app/panels/kit/scrolled.hpp"
#include "app/panels/write/branch_list.hpp"
#include "app/panels/write/candidate_list.hpp"
#include "app/panels/write/fill_in_view.hpp"
#include "app/panels/write/writing_actions.hpp"
#include "app/panels/write/written_chips.hpp"
#include "app/widgets/box.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/token_chips.hpp"

namespace attn::app {
namespace {

constexpr float kHead = 44, kWriteWidth = 104, kOtherWidth = 132, kAnswerWidth = 168, kColumnsFrom = 560, kChipsMost = 210,
                kChipsLeast = 76;

/// A problem, or a hint on what to do here.
std::string words_below(const PanelContext& context) {
    if (!context.writing_problem.empty()) return std::string(context.writing_problem);
    const Writing& writing = shown_writing(context);
    if (!context.writing && writing.shown != kPrompt)
        if (const std::int32_t id = writing.tokens[static_cast<std::size_t>(writing.shown)].id; ends_text(context, id))
            return fmt::format("The model ended its text here, with “{}”. “Write on” continues anyway.",
                               shown_token(context.snapshot.vocabulary, id));
    if (writing.tokens.empty() && can_answer_from_start(context))
        return "The encoder reads the source, the decoder has the text below. “Answer from the start” clears that text and lets the model "
               "write the whole answer, token by token.";
    if (writing.tokens.empty())
        return "“Write on” lets the model draw one token after another. Click any of them to go back to it, or another candidate to "
               "branch.";
    return "";
}

/// Such as "token 12 of 40 · branch 2 of 3".
std::string moment_words(const Writing& writing) {
    if (writing.tokens.empty()) return "nothing is written yet";
    const std::vector<std::int64_t> ends = branch_ends(writing);
    const auto branch = std::find(ends.begin(), ends.end(), writing.end) - ends.begin() + 1;
    const std::size_t at = depth_of(writing, writing.shown), all = depth_of(writing, writing.end);
    const std::string moment = at == 0 ? fmt::format("before the first of {} tokens", all) : fmt::format("token {} of {}", at, all);
    return ends.size() == 1 ? moment : fmt::format("{} · branch {} of {}", moment, branch, ends.size());
}

/// Draws the heading with the buttons at its right.
void draw_heading(PanelContext& context) {
    const auto& [colors, fonts, scale] = context.theme;
    const Ui ui = context.ui();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x, end = at.x + width, gap_between = context.px(8);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    draw_text(list, fonts.heading, at, colors.text, "Write");
    float right = end - context.px(kWriteWidth);
    ImGui::SetCursorScreenPos({right, at.y});
    const bool on = context.writing;
    const std::string full = no_room_to_write(context);
    if (button(ui, on ? "Stop##view" : "Write on##view",
               {.look = on ? ButtonLook::Plain : ButtonLook::Accent,
                .width = kWriteWidth,
                .icon = on ? Icon::Pause : Icon::Play,
                .notes = {.tooltip = on ? "Stops after the current token (Y)." : "Continues from here (Y).", .disabled = on ? "" : full}}))
        toggle_writing(context);
    if (!shown_writing(context).tokens.empty() && width > context.px(420)) {
        right -= context.px(kOtherWidth) + gap_between;
        ImGui::SetCursorScreenPos({right, at.y});
        if (button(ui, "Something else##view",
                   {.width = kOtherWidth,
                    .notes = {.tooltip = "Continues from here with the next seed, as a new branch if tokens already follow.",
                              .disabled = full}}))
            write_otherwise(context);
    }
    if (can_answer_from_start(context) && width > context.px(600)) {
        right -= context.px(kAnswerWidth) + gap_between;
        ImGui::SetCursorScreenPos({right, at.y});
        if (button(ui, "Answer from the start##view",
                   {.width = kAnswerWidth,
                    .notes = {.tooltip = "Keeps the source, cuts the text to what every answer begins with, and lets the model write."}}))
            answer_from_start(context);
    }
    const float x = at.x + text_width(fonts.heading, "Write") + context.px(12);
    if (!leaves_to_notice(context, {{x, at.y}, {right - gap_between, at.y + context.px(kNoticeLine)}}))
        draw_text(list, fonts.label, {x, at.y + context.px(9)}, colors.muted,
                  elide(fonts.label, moment_words(shown_writing(context)), right - gap_between - x));
    ImGui::SetCursorScreenPos({at.x, at.y + context.px(kHead)});
    if (const std::string words = words_below(context); !words.empty()) {
        // A full context is a normal end.
        paragraph(ui, fonts.label, context.writing_problem.empty() || !full.empty() ? colors.muted : colors.bad, words);
        gap(ui, 6);
    }
}

/// A separately scrolling part of the view.
template <class Draw>
void part(PanelContext& context, const char* id, const Box& box, const Draw& draw) {
    ImGui::SetCursorScreenPos(box.min);
    const Scrolled scrolled(context.ui(), id, {box.width(), box.height()});
    draw(context);
}

}  // namespace

void draw_write_view(PanelContext& context) {
    if (!context.ready()) return;
    const auto& [colors, fonts, scale] = context.theme;
    if (reads_both_ways(context)) return draw_fill_in_view(context);
    if (!can_write(context)) {
        draw_text(*ImGui::GetWindowDrawList(), fonts.heading, ImGui::GetCursorScreenPos(), colors.text, "Write");
        gap(context.ui(), kHead);
        paragraph(context.ui(), fonts.body, colors.muted,
                  context.structure().config.lm_head ? "The causal mask is off: every token sees the ones that follow, so there is no "
                                                       "next one to predict. Switch it on under Masks to write on."
                                                     : without_output_head(context.document.model != nullptr));
        return;
    }
    draw_heading(context);
    const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    const float chips =
        std::clamp(std::min(written_chips_height(context, room.x), room.y * 0.4F), context.px(kChipsLeast), context.px(kChipsMost));
    part(context, "##written", {at, {at.x + room.x, at.y + chips}}, draw_written_chips);
    const float top = at.y + chips + context.px(14), bottom = at.y + room.y;
    const bool beside = room.x >= context.px(kColumnsFrom);
    const float middle = beside ? at.x + std::floor(room.x * 0.54F) : at.x + room.x;
    part(context, "##candidates", {{at.x, top}, {middle - (beside ? context.px(24) : 0), bottom}}, draw_candidates);
    if (beside) part(context, "##branches", {{middle, top}, {at.x + room.x, bottom}}, draw_branches);
}

}  // namespace attn::app
