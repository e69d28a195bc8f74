#include "app/panels/export/export_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/shown_text.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {

void keep_up_with_export(PanelContext& context) {
    std::optional<double>& since = context.view.files.exporting_since;
    if (!context.files.exporting) since.reset();
    else if (!since) since = context.now;
}

std::optional<double> export_shown_from(const FileView& view) {
    return view.exporting_since ? std::optional(*view.exporting_since + kExportShownAfter) : std::nullopt;
}

void draw_export_line(PanelContext& context, float bottom) {
    constexpr float kPadding = 14, kBetween = 12, kHeight = 44, kBar = 160, kCancel = 72, kMostName = 300, kFoot = 12;
    const std::optional<double> from = export_shown_from(context.view.files);
    if (!context.files.exporting || !from || context.now < *from) return;
    const auto& [colors, fonts, scale] = context.theme;
    const Ui ui = context.ui();
    const ExportUnderWay& shown = *context.files.exporting;
    const std::string name = "Writing " + elide_shown_middle(fonts.body, "", shown.path.filename().native(), context.px(kMostName)) + " · ";
    const float share_x = context.px(kPadding) + text_width(fonts.body, name);
    const float bar_x = share_x + text_width(fonts.body, "100 %") + context.px(kBetween);
    const float button_x = bar_x + context.px(kBar + kBetween);
    const ImVec2 display = ImGui::GetIO().DisplaySize, size{button_x + context.px(kCancel + kPadding), context.px(kHeight)};
    const ImVec2 min{std::max(0.F, (display.x - size.x) / 2), bottom - size.y - context.px(kFoot)}, max{min.x + size.x, min.y + size.y};
    ImGui::SetNextWindowPos(min);
    ImGui::SetNextWindowSize(size);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
    ImGui::Begin("##export_line", nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoNav |
                     ImGuiWindowFlags_NoFocusOnAppearing | ImGuiWindowFlags_NoSavedSettings);
    ImGui::PopStyleVar(2);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(min, max, colors.raised, context.px(8));
    list.AddRect(min, max, colors.line, context.px(8), 0, std::max(1.F, context.px(1)));
    const float text_y = (min.y + max.y - font_size(fonts.body)) / 2;
    draw_text(list, fonts.body, {min.x + context.px(kPadding), text_y}, colors.text, name);
    draw_text(list, fonts.body, {min.x + share_x, text_y}, colors.text, fmt::format("{:.0f} %", std::floor(100 * shown.share)));
    ImGui::SetCursorScreenPos({min.x + bar_x, (min.y + max.y) / 2 - context.px(3)});
    progress_bar(ui, static_cast<float>(shown.share), kBar);
    ImGui::SetCursorScreenPos({min.x + button_x, min.y + context.px(7)});
    if (button(ui, "Cancel", {.width = kCancel, .notes = {.tooltip = "Stops writing; a file of this name stays as it was."}}))
        context.commands.push_back({command::CancelExport{}, ""});
    ImGui::End();
}

}  // namespace attn::app
