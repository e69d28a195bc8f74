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

/// Where a notice stands, and in which type: in one line or, where it needs two, in smaller letters.
struct NoticePlace {
    Box box;
    ImFont* font = nullptr;
    float room = 0;  ///< for the words
};

NoticePlace notice_place(const PanelContext& context, const Box& picture, std::string_view words) {
    constexpr float kInset = 24, kBelowTitle = 56, kLeast = 120;
    const Fonts& fonts = context.theme.fonts;
    // A view that waits for its numbers has no line, and nothing that a notice could cover.
    const Box line =
        context.view.drawn.notice_line.value_or(Box{{picture.min.x + context.px(kInset), picture.min.y + context.px(kBelowTitle)},
                                                    {picture.max.x - context.px(kInset), picture.min.y + context.px(kBelowTitle)}});
    const float beside = context.px(kNoticeText + kNoticeClose), most = std::max(line.width() - beside, context.px(kLeast));
    NoticePlace place;
    place.font = text_width(fonts.label, words) < most ? fonts.label : fonts.caption;
    place.room = std::min(text_width(place.font, words) + 1, most);
    const float height = wrapped_height(place.font, place.room, words) + 2 * context.px(kNoticePadding);
    const float top = line.min.y + std::max(line.height() - height, -context.px(2 * kNoticePadding)) / 2;
    place.box = {{line.min.x, top}, {line.min.x + place.room + beside, top + height}};
    return place;
}

void draw_notice_words(const PanelContext& context, const NoticePlace& place, const Said& said) {
    const Palette& colors = context.theme.colors;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const ImVec2 corner = place.box.min;
    const float first = corner.y + context.px(kNoticePadding);
    list.AddCircleFilled({corner.x + context.px(12), first + font_size(place.font) / 2}, context.px(4),
                         said.failed ? colors.bad : colors.good);
    draw_text_wrapped(list, place.font, {corner.x + context.px(kNoticeText), first}, place.room, colors.text, said.words);
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
    draw_notice_words(context, {{at, {at.x + width, at.y + height}}, context.theme.fonts.label, room}, *said);
    ImGui::Dummy({width, height});
}

void draw_notices(PanelContext& context, const Box& picture) {
    take_notice(context);
    const std::optional<Said> said = said_now(context);
    if (!said || context.view.drawn.sheet) return;
    const Palette& colors = context.theme.colors;
    const NoticePlace place = notice_place(context, picture, said->words);
    const Box& box = place.box;
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
    draw_notice_words(context, place, *said);
    const Item item = item_at(context.ui(), "##close_notice", box.min, {box.width(), box.height()},
                              {.explains_itself = true, .words = "Close the notice"});
    draw_icon(list, Icon::Close,
              {box.max.x - context.px(kNoticeClose / 2), box.min.y + context.px(kNoticePadding) + font_size(place.font) / 2},
              context.px(10), item.hovered ? colors.text : colors.muted);
    draw_focus_ring(context.ui(), item, context.px(6));
    ImGui::End();
    // What went well makes way where the mouse wants what it covers.
    if (item.pressed || (!said->failed && mouse_enters(box))) end_said(context.view.files.notices, *said);
}

}  // namespace attn::app
