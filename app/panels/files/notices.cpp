#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "app/panels/files/files.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr double kNoticeSeconds = 6;
constexpr float kNoticeText = 24, kNoticeClose = 26, kNoticePadding = 5;

void take_refusal(PanelContext& context) {
    const FilesState& files = context.files;
    NoticeView& view = context.view.files.notices;
    view.refusal = files.notice;
    view.refused_at = context.now;
    view.of = files.notice_of;
    view.ended = files.ended[static_cast<std::size_t>(view.of)];
    view.view = context.view.view;
    view.stage = context.view.stage;
    view.head = context.view.head;
}

/// Whether the error shown is about something that has changed since.
bool cause_is_gone(const PanelContext& context) {
    const NoticeView& view = context.view.files.notices;
    const bool looks_elsewhere = context.view.view != view.view || context.view.stage != view.stage || context.view.head != view.head;
    return context.files.ended[static_cast<std::size_t>(view.of)] != view.ended || (view.of == NoticeOf::View && looks_elsewhere);
}

void take_notice(PanelContext& context) {
    const FilesState& files = context.files;
    NoticeView& view = context.view.files.notices;
    if (files.notices != view.number) {
        view.number = files.notices;
        view.has_succeeded = !files.failed;
        view.until = files.failed ? 0 : context.now + kNoticeSeconds;
        if (files.failed) take_refusal(context);
    }
    if (!view.refusal.empty() && cause_is_gone(context)) view.refusal.clear();
    if (view.has_succeeded && context.now >= view.refused_at + kNoticeSeconds) view.refusal.clear();
}

struct Said {
    std::string words;
    bool failed = false;
};

/// The newest notice; an error that it hides is counted.
std::optional<Said> said_now(const PanelContext& context) {
    const NoticeView& view = context.view.files.notices;
    if (context.now < view.until) return Said{visible_text(context.files.notice, true) + (view.shows_error() ? " · 1 more" : ""), false};
    if (view.shows_error()) return Said{visible_text(view.refusal, true), true};
    return {};
}

void end_said(NoticeView& view, const Said& said) {
    if (said.failed) view.refusal.clear();
    else view.until = 0;
}

/// Whether the mouse has just moved onto the box. Where it rests already, a notice can be read all the same.
bool mouse_enters(const Box& box) {
    const ImVec2 now = ImGui::GetIO().MousePos, moved = ImGui::GetIO().MouseDelta;
    const auto inside = [&](float x, float y) { return x >= box.min.x && x < box.max.x && y >= box.min.y && y < box.max.y; };
    return inside(now.x, now.y) && !inside(now.x - moved.x, now.y - moved.y);
}

/// Where the view has a place for notices; or else beside its title, over what is said there in small type; or, where the words are too
/// many for that, under it.
Box notice_line(const PanelContext& context, const Box& picture, std::string_view words) {
    if (context.view.drawn.notice_line) return *context.view.drawn.notice_line;
    constexpr float kInset = 24, kTitle = 150, kButtons = 280, kInTitle = 25, kUnderTitle = 56;
    const float left = picture.min.x + context.px(kInset), right = picture.max.x - context.px(kInset);
    const float beside_title = right - left - context.px(kTitle + kButtons);
    if (text_width(context.theme.fonts.label, words) + context.px(kNoticeText + kNoticeClose) < beside_title) {
        const float y = picture.min.y + context.px(kInTitle);
        return {{left + context.px(kTitle), y}, {right - context.px(kButtons), y}};
    }
    const float y = picture.min.y + context.px(kUnderTitle);
    return {{left, y}, {right, y}};
}

void draw_notice_words(const PanelContext& context, const Box& box, float room, const Said& said) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float first = box.min.y + context.px(kNoticePadding);
    list.AddCircleFilled({box.min.x + context.px(12), first + font_size(fonts.label) / 2}, context.px(4),
                         said.failed ? colors.bad : colors.good);
    draw_text_wrapped(list, fonts.label, {box.min.x + context.px(kNoticeText), first}, room, colors.text, said.words);
}

}  // namespace

void draw_notice_in_sheet(PanelContext& context) {
    context.view.drawn.sheet = true;
    const std::optional<Said> said = said_now(context);
    if (!said) return;
    gap(context.ui(), 10);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x, room = width - context.px(kNoticeText);
    const float height = wrapped_height(context.theme.fonts.label, room, said->words) + 2 * context.px(kNoticePadding);
    draw_notice_words(context, {at, {at.x + width, at.y + height}}, room, *said);
    ImGui::Dummy({width, height});
}

void draw_notices(PanelContext& context, const Box& picture) {
    take_notice(context);
    const std::optional<Said> said = said_now(context);
    if (!said || context.view.drawn.sheet) return;
    const auto& [colors, fonts, scale] = context.theme;
    const Box line = notice_line(context, picture, said->words);
    const ImVec2 min{line.min.x, line.min.y - context.px(kNoticePadding)};
    const float beside = context.px(kNoticeText + kNoticeClose);
    const float most = std::max(line.max.x - min.x - beside, context.px(120));
    const float width = std::min(text_width(fonts.label, said->words) + 1, most);
    const Box box{min, {min.x + width + beside, min.y + wrapped_height(fonts.label, width, said->words) + 2 * context.px(kNoticePadding)}};
    ImGui::SetNextWindowPos(box.min);
    ImGui::SetNextWindowSize({box.width(), box.height()});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
    // A window of its own, so that clicks on it do not reach what is below.
    ImGui::Begin("##notice", nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoNav |
                     ImGuiWindowFlags_NoFocusOnAppearing | ImGuiWindowFlags_NoSavedSettings);
    ImGui::PopStyleVar(2);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(box.min, box.max, colors.raised, context.px(6));
    if (said->failed) list.AddRectFilled(box.min, box.max, with_alpha(colors.bad, 0.14F), context.px(6));
    list.AddRect(box.min, box.max, said->failed ? colors.bad : colors.line, context.px(6));
    draw_notice_words(context, box, width, *said);
    const Item item = item_at(context.ui(), "##close_notice", box.min, {box.width(), box.height()},
                              {.explains_itself = true, .words = "Close the notice"});
    draw_icon(list, Icon::Close,
              {box.max.x - context.px(kNoticeClose / 2), box.min.y + context.px(kNoticePadding) + font_size(fonts.label) / 2},
              context.px(10), item.hovered ? colors.text : colors.muted);
    draw_focus_ring(context.ui(), item, context.px(6));
    ImGui::End();
    // What went well makes way where the mouse wants what it covers.
    if (item.pressed || (!said->failed && mouse_enters(box))) end_said(context.view.files.notices, *said);
}

}  // namespace attn::app
