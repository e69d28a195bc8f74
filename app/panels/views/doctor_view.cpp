#include "app/panels/views/drawn_views.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/panels/files/files.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/kit/notice_place.hpp"
#include "app/panels/kit/recorded_attentions.hpp"
#include "app/panels/views/dump_findings.hpp"
#include "app/session/values/doctor_report.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/text_field.hpp"
#include "app/widgets/token_chips.hpp"

namespace attn::app {
namespace {

Color spot_of(const Palette& colors, doctor::Verdict verdict) {
    return verdict == doctor::Verdict::Correct ? colors.good : verdict == doctor::Verdict::Wrong ? colors.bad : colors.faint;
}
Color spot_of(const Palette& colors, doctor::Severity severity) {
    return severity == doctor::Severity::Wrong ? colors.bad : severity == doctor::Severity::Warning ? colors.chosen_text : colors.faint;
}

std::string headline(const DoctorReport& report) {
    const doctor::Diagnosis& diagnosis = report.diagnosis;
    if (report.by_hand) return "Changed by hand";
    if (diagnosis.verdict == doctor::Verdict::Correct) return "Correct";
    if (diagnosis.verdict == doctor::Verdict::Unknown) return "Not enough to judge";
    return diagnosis.bug ? "Wrong: " + std::string(doctor::bug_title(*diagnosis.bug)) : "Wrong";
}

/// The stage of the shown trace that a finding refers to.
std::optional<StageId> stage_of(const PanelContext& context, const doctor::Finding& finding) {
    const std::string name = finding.attention.empty() ? finding.stage : finding.attention + "." + finding.stage;
    std::optional<StageId> id = stage_from_tensor_name(name);
    if (id && !context.has_stage(*id)) id.reset();
    return id;
}

void go_to(PanelContext& context, const doctor::Finding& finding, const StageId& id) {
    CellRef cell{id, "", {}};
    for (std::size_t i = 0; i < std::min(cell.index.size(), finding.cell.size()); ++i) cell.index[i] = finding.cell[i];
    if (finding.head >= 0) cell.index[1] = finding.head;
    follow_to(context.view, cell);
    context.view.view = View::Step;
}

/// A row with a dot, wrapped text and a place, which is a link if it has a tooltip; true if clicked.
bool row(const PanelContext& context, const char* id, Color spot, const std::string& words, const std::string& place,
         std::string_view tooltip) {
    const auto& [colors, fonts, scale] = context.theme;
    const float width = ImGui::GetContentRegionAvail().x, indent = context.px(18);
    const float text_height = wrapped_height(fonts.body, width - indent - context.px(10), words);
    const float height = text_height + (place.empty() ? 0 : context.px(18)) + context.px(10);
    const bool leads = !place.empty() && !tooltip.empty();
    const Item item = begin_item(context.ui(), id, {width, height}, {.tooltip = tooltip, .keyboard = !tooltip.empty()});
    ImDrawList& list = *ImGui::GetWindowDrawList();
    if (item.hovered && leads) list.AddRectFilled(item.min, item.max, colors.raised, context.px(6));
    list.AddCircleFilled({item.min.x + context.px(7), item.min.y + context.px(14)}, context.px(4), spot);
    draw_text_wrapped(list, fonts.body, {item.min.x + indent, item.min.y + context.px(5)}, width - indent - context.px(10), colors.text,
                      words);
    if (!place.empty())
        draw_text(list, fonts.mono_small, {item.min.x + indent, item.min.y + text_height + context.px(7)},
                  tooltip.empty() ? colors.muted : colors.accent, place);
    draw_focus_ring(context.ui(), item, context.px(6));
    return item.pressed && leads;
}

void draw_report(PanelContext& context, const DoctorReport& report) {
    const auto& [colors, fonts, scale] = context.theme;
    const Ui ui = context.ui();
    const doctor::Diagnosis& diagnosis = report.diagnosis;
    const bool leads = report.file.empty();
    status_badge(ui, leads ? "##own_verdict" : "##dump_verdict", report.by_hand ? colors.chosen_text : spot_of(colors, diagnosis.verdict),
                 headline(report), "",
                 "Every stage is recomputed from the one before it; differences are compared with the classic mistakes.");
    gap(ui, 4);
    // A wrong verdict is explained by its first finding; other verdicts have none.
    if (diagnosis.verdict != doctor::Verdict::Wrong || report.by_hand) paragraph(ui, fonts.body, colors.muted, diagnosis.explanation);
    ImGui::PushID(leads ? "own" : "dump");
    int number = 0;
    for (const doctor::Finding& finding : diagnosis.findings) {
        ImGui::PushID(number++);
        const std::optional<StageId> id = leads ? stage_of(context, finding) : std::nullopt;
        const bool named = !finding.stage.empty();
        const bool beside = !leads && finding.beside != nullptr;
        const bool pressed = row(context, "##finding", spot_of(colors, finding.severity), finding.sentence,
                                 !named         ? finding.attention
                                 : id || !leads ? place_text(finding)
                                                : "",
                                 id       ? "Show this stage and cell"
                                 : beside ? "Show what was recorded beside what was expected"
                                          : "");
        if (pressed && id) go_to(context, finding, *id);
        else if (pressed) choose_finding(context, finding);
        ImGui::PopID();
    }
    ImGui::PopID();
}

void draw_future(PanelContext& context, const DoctorReport& report) {
    const auto& [colors, fonts, scale] = context.theme;
    const Ui ui = context.ui();
    if (report.future.empty()) return;
    section_heading(ui, "Does the future leak?");
    const auto leaking =
        std::count_if(report.future.begin(), report.future.end(), [](const FutureTest& test) { return !test.moved.empty(); });
    const bool causal = context.structure().settings.masks.causal;
    std::string verdict = "No matter which token of the first text is replaced, no earlier output changes.";
    if (leaking > 0)
        verdict = fmt::format("Of {} tokens replaced one by one, {} changed the output of earlier positions. {}", report.future.size(),
                              leaking, causal ? "With a causal mask none should." : "Without a causal mask that is expected.");
    row(context, "##future",
        leaking == 0 ? colors.good
        : causal     ? colors.bad
                     : colors.faint,
        verdict, "", "Each token is replaced in turn, and the outputs at earlier positions are compared with before.");
    for (const FutureTest& test : report.future) {
        if (test.moved.empty() || !causal) continue;
        std::vector<std::int64_t> positions;
        double change = 0;
        for (const doctor::Leak& leak : test.moved) {
            positions.push_back(leak.position);
            change = std::max(change, leak.change);
        }
        const Token& token = context.snapshot.tokens.at(0).at(static_cast<std::size_t>(test.changed));
        ImGui::PushID(static_cast<int>(test.changed));
        row(context, "##leak", colors.bad,
            fmt::format("A different token at {} ({}) changes position{} {} by up to {}.", test.changed, shown_token(token.text, token.id),
                        positions.size() == 1 ? "" : "s", fmt::join(positions, ", "), format_number(change)),
            "", "");
        ImGui::PopID();
    }
}

constexpr float kPathField = 330, kChoose = 116, kExamine = 90, kSectionName = 190;
constexpr const char* kDoctorTitle = "Check my code";

/// A file to examine, right-aligned in the line of the heading.
void draw_dump_field(PanelContext& context, ImVec2 heading, float right) {
    const Ui ui = context.ui();
    std::string& path = context.view.doctor.path;
    const float button_x = right - context.px(kExamine + kChoose + 6),
                least = heading.x + text_width(context.theme.fonts.heading, kDoctorTitle) + context.px(16);
    const float x = std::max(button_x - context.px(kPathField + 8), least);
    ImGui::SetCursorScreenPos({x, heading.y});
    // After Enter, keys belong to the program again, unless the path has to be corrected.
    if (context.view.doctor.entered && context.dump != nullptr && !context.dump->reading) {
        context.view.doctor.entered = false;
        context.view.doctor.focus = !context.dump->problem.empty();
    }
    if (std::exchange(context.view.doctor.focus, false)) focus_next_field();
    const bool entered = text_field(
        ui, "##dump_path", path, "a .safetensors or .npz file from other code", (button_x - context.px(8) - x) / context.theme.scale,
        {.tooltip = "The path of a file with tensors such as q, k, v, scores, weights, context, from any framework; or drop the "
                    "file on the window. Press ? for the help page about them."});
    ImGui::SetCursorScreenPos({button_x, heading.y});
    draw_browse_button(context, "Choose a file##dump", FileTask::Dump, path, kChoose);
    ImGui::SetCursorScreenPos({right - context.px(kExamine), heading.y});
    const bool pressed = button(ui, "examine", {.width = kExamine, .notes = {.disabled = path.empty() ? "Type a file's path." : ""}});
    if ((!entered && !pressed) || path.empty()) return;
    examine_dump(context, path);
    context.view.doctor.entered = entered;
}

void draw_dump(PanelContext& context) {
    const auto& [colors, fonts, scale] = context.theme;
    const Ui ui = context.ui();
    section_heading(ui, "A dump from other code");
    text_line(ui, fonts.strong, colors.text, visible_text(context.dump->file, true));
    if (context.dump->reading) paragraph(ui, fonts.body, colors.muted, "Examining …");
    else if (!context.dump->problem.empty()) paragraph(ui, fonts.body, colors.bad, context.dump->problem);
    else {
        draw_report(context, *context.dump);
        draw_recorded_beside_expected(context);
    }
    gap(ui, 10);
    if (link(ui, "close this file", "Shows what the doctor says of the model in the window.")) close_dump(context);
}

/// What the code of the shown recording says: mistakes are read in it, not guessed from numbers.
void draw_recording_report(PanelContext& context) {
    const auto& [colors, fonts, scale] = context.theme;
    const Ui ui = context.ui();
    section_heading(ui, "Your code");
    const auto report = context.ask(facet::RecordingReport{});
    if (!report)
        return paragraph(ui, fonts.body, report.problem.empty() ? colors.muted : colors.bad,
                         report.problem.empty() ? "The recording is being examined." : report.problem);
    const auto has_findings = [](const RecordingReport::Attention& attention) { return !attention.findings.empty(); };
    if (report->around.empty() && std::none_of(report->attentions.begin(), report->attentions.end(), has_findings))
        paragraph(ui, fonts.body, colors.text, "No mistake was found in these attentions.");
    draw_recorded_attentions(context, *report, context.theme.fonts.body);
}

/// What the doctor says of the shown model.
void draw_own_report(PanelContext& context) {
    const auto& [colors, fonts, scale] = context.theme;
    const Ui ui = context.ui();
    section_heading(ui, "What is shown");
    if (const auto report = context.ask(facet::Doctor{})) {
        draw_report(context, *report);
        gap(ui, 10);
        draw_future(context, *report);
    } else {
        paragraph(ui, fonts.body, report.problem.empty() ? colors.muted : colors.bad,
                  report.problem.empty() ? "The numbers are being examined." : report.problem);
    }
    gap(ui, 12);
    paragraph(ui, fonts.label, colors.faint,
              "To examine your own attention, save q, k, v and its stages to a file; the doctor names the first one that goes wrong.");
}

}  // namespace

void draw_doctor_view(PanelContext& context) {
    if (!context.ready()) return;
    const auto& [colors, fonts, scale] = context.theme;
    const Ui ui = context.ui();
    const ImVec2 heading = ImGui::GetCursorScreenPos();
    const float right = heading.x + ImGui::GetContentRegionAvail().x;
    text_line(ui, fonts.heading, colors.text, kDoctorTitle);
    draw_dump_field(context, heading, right);
    ImGui::SetCursorScreenPos({heading.x, heading.y + context.px(40)});
    // Beside the name of the first section.
    leaves_to_notice(context, {{heading.x + context.px(kSectionName), heading.y + context.px(32)}, {right, heading.y + context.px(62)}});
    ImGui::BeginChild("##doctor", {0, 0}, false, 0);
    // A file that the user has opened has nothing to do with the shown model.
    if (open_dump(context) != nullptr) draw_dump(context);
    else if (context.document.recorded) draw_recording_report(context);
    else draw_own_report(context);
    fade_scrolled_edges(context.ui());
    ImGui::EndChild();
}

}  // namespace attn::app
