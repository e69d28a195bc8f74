#include "app/panels/views/missing_head.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "app/panels/kit/labels.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/write/writing_actions.hpp"
#include "app/session/document/weights_origin.hpp"
#include "app/session/values/knock_out.hpp"
#include "app/session/values/next_words.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/shown_text.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

/// What happens to the answer without one head, as part of all heads measured.
struct Missed {
    const PartWorth* own = nullptr;   ///< the shown head
    const PartWorth* most = nullptr;  ///< the one without which the answer is least likely
};

Missed find_missed(const KnockOut& result, const CellRef& cell) {
    Missed missed;
    for (const PartWorth& part : result.parts) {
        if (!part.measured) continue;
        const bool same = part.stage.layer == cell.stage.layer && part.stage.stack == cell.stage.stack &&
                          part.stage.attention == cell.stage.attention && part.index == cell.index[1];
        if (same) missed.own = &part;
        if (missed.most == nullptr || part.without < missed.most->without) missed.most = &part;
    }
    return missed;
}

/// Near certainty, the hundredths tell; near 0, nothing does.
std::string percent_of(double share) {
    if (share < 0.0005) return "<0.1 %";
    return format_number(100 * share, {.decimals = share > 0.99 && share < 1 ? 2 : 1}) + " %";
}

std::string name_of_part(const PartWorth& part) { return fmt::format("L{} H{}", part.stage.layer, part.index); }

void show_part(PanelContext& context, const PartWorth& part) {
    context.view.stage = weights_of(part.stage);
    context.view.head = part.index;
}

void draw_result(PanelContext& context, const KnockOut& result, const CellRef& cell, const std::string& answer) {
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    const Missed missed = find_missed(result, cell);
    if (missed.own == nullptr || missed.most == nullptr) return;
    value_row(ui, fmt::format("“{}”", answer), fmt::format("{} → {}", percent_of(result.with_all), percent_of(missed.own->without)),
              "How likely this answer is with all heads, and with this head’s output set to zero.");
    if (missed.own == missed.most) return text_line(ui, fonts.label, colors.muted, "No other head is missed more.");
    ImGui::PushID("missed most");
    if (value_row(ui, fmt::format("missed most: {}", name_of_part(*missed.most)), "→ " + percent_of(missed.most->without),
                  "Without that head this answer is least likely. Click to see it."))
        show_part(context, *missed.most);
    ImGui::PopID();
}

}  // namespace

void draw_missing_head(PanelContext& context, const CellRef& cell) {
    const bool of_weights = cell.stage.stage == Stage::Weights || cell.stage.stage == Stage::Dropped;
    if (!of_weights || !context.snapshot.is_whole() || !can_write(context) || !weights_origin(context.document).learned) return;
    if (cell.stage.stack == Stack::Encoder) return;
    const std::int64_t sequence = cell.index[0], position = cell.index[2];
    if (position >= context.structure().tokens.lengths.at(static_cast<std::size_t>(sequence))) return;  // padding predicts nothing
    const auto words = context.ask_latest(facet::NextWords{sequence, {}, position});
    if (words && words->likeliest.empty()) return;
    gap(context.ui(), 12);
    section_heading(context.ui(), "If this head were missing");
    Answer<facet::KnockOut> answer;
    if (words) {
        const KnockOutQuestion question{.place = KnockOutQuestion::Place{sequence, position, words->likeliest.front().id}};
        answer = context.ask_latest(facet::KnockOut{question});
    }
    if (answer) return draw_result(context, *answer.value, cell, visible_text(words->likeliest.front().text));
    const auto& [colors, fonts, scale] = context.theme;
    if (!answer.problem.empty()) return paragraph(context.ui(), fonts.label, colors.bad, answer.problem);
    text_line(context.ui(), fonts.label, colors.muted,
              answer.total == 0 ? std::string("each head is being left out …")
                                : fmt::format("{} of {} heads left out …", answer.done, answer.total));
}

}  // namespace attn::app
