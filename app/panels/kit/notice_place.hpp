#pragma once
/// Where a view has room for notices, so that they cover nothing.

#include "app/panels/kit/panel_context.hpp"
#include "app/widgets/box.hpp"

namespace attn::app {

/// Height of a heading's line, which has room for two lines of small type.
inline constexpr float kNoticeLine = 34;

/// Makes this line the place for notices, unless the view has named another before. Whether a notice stands in it now, so that what is
/// otherwise said there is left out.
inline bool leaves_to_notice(const PanelContext& context, const Box& line) {
    DrawnParts& drawn = context.view.drawn;
    if (drawn.notice_line) return false;
    drawn.notice_line = line;
    return context.view.files.notices.says(context.now);
}

}  // namespace attn::app
