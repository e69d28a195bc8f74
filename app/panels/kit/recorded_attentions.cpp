#include "app/panels/kit/recorded_attentions.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "app/panels/kit/navigation.hpp"
#include "app/widgets/controls.hpp"

namespace attn::app {
namespace {

using recording::CodeFinding;
using recording::Gravity;

Color color_of(const Palette& colors, Gravity gravity) {
    return gravity == Gravity::Wrong ? colors.bad : gravity == Gravity::Unusual ? colors.chosen_text : colors.muted;
}

void draw_findings(PanelContext& context, const std::vector<CodeFinding>& findings, ImFont* font) {
    const Ui ui = context.ui();
    for (const CodeFinding& finding : findings) {
        const std::string line = finding.line.empty() ? "" : " (" + finding.line + ")";
        paragraph(ui, font, color_of(context.theme.colors, finding.gravity),
                  fmt::format("{}: {}{}", gravity_name(finding.gravity), finding.text, line));
        gap(ui, 2);
    }
}

/// Stages whose recorded numbers do not hold any more, with the reason of the first, from which the others follow.
void draw_lost(PanelContext& context, const std::vector<RecordingReport::Missing>& missing, ImFont* font) {
    std::vector<std::string> names;
    std::string why;
    for (const RecordingReport::Missing& one : missing) {
        if (!one.after_edit) continue;
        if (names.empty()) why = one.why;
        names.push_back(one.name);
    }
    if (names.empty()) return;
    paragraph(context.ui(), font, context.theme.colors.chosen_text,
              fmt::format("after your edit without {}: {}", fmt::join(names, ", "), why));
    gap(context.ui(), 2);
}

/// Each attention with the layer that stands for it, and what its code shows.
void draw_attentions(PanelContext& context, const RecordingReport& report, ImFont* font) {
    const Ui ui = context.ui();
    for (std::size_t layer = 0; layer < report.attentions.size(); ++layer) {
        const RecordingReport::Attention& attention = report.attentions[layer];
        const std::string name = attention.name.empty() ? "attention" : attention.name;
        gap(ui, 6);
        const std::string label = fmt::format("{}###attention{}", name, layer);
        if (link(ui, label.c_str(), fmt::format("{}\nShows layer {}, which stands for this attention.", name, layer)))
            go_to_layer(context.view, context.structure(), static_cast<int>(layer));
        if (!attention.source.empty()) text_line(ui, context.theme.fonts.caption, context.theme.colors.faint, attention.source);
        draw_lost(context, attention.missing, font);
        draw_findings(context, attention.findings, font);
    }
}

void draw_unfollowed(PanelContext& context, const RecordingReport& report, ImFont* font) {
    const Ui ui = context.ui();
    for (const recording::Unfollowed& one : report.unfollowed) {
        gap(ui, 4);
        paragraph(ui, font, context.theme.colors.muted,
                  fmt::format("not followed: {}{}{}", one.what, one.line.empty() ? "" : " (" + one.line + ")",
                              one.todo.empty() ? "" : "; " + one.todo));
    }
}

}  // namespace

void draw_recorded_attentions(PanelContext& context, const RecordingReport& report, ImFont* font) {
    if (!report.error.empty()) paragraph(context.ui(), font, context.theme.colors.bad, "The code ended with " + report.error);
    draw_attentions(context, report, font);
    draw_findings(context, report.around, font);
    draw_unfollowed(context, report, font);
}

bool shows_own_recording(const PanelContext& context) {
    return context.document.recorded && !context.document.recorded->recording->is_shipped();
}

}  // namespace attn::app
