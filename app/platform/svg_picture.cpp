#include "app/platform/svg_picture.hpp"

#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "app/platform/svg_canvas.hpp"
#include "app/platform/svg_elements.hpp"
#include "app/platform/trim.hpp"

namespace attn::app {

namespace {

SvgPoint point(const ImVec2& p) { return {p.x, p.y}; }
SvgPoint middle(const SvgPoint& a, const SvgPoint& b) { return {(a.x + b.x) / 2, (a.y + b.y) / 2}; }
float distance(const SvgPoint& a, const SvgPoint& b) { return std::hypot(a.x - b.x, a.y - b.y); }

struct Face {
    const char* family = "Inter";
    bool semibold = false;
    float size = 14;
};

Face face_of(const Fonts& fonts, const ImFont* font, float scale) {
    const auto size = [scale](float logical) { return logical * scale; };
    if (font == fonts.small) return {"Inter", true, size(11)};
    if (font == fonts.caption) return {"Inter", false, size(11)};
    if (font == fonts.label) return {"Inter", false, size(13)};
    if (font == fonts.strong) return {"Inter", true, size(14)};
    if (font == fonts.title) return {"Inter", true, size(18)};
    if (font == fonts.heading) return {"Inter", true, size(22)};
    if (font == fonts.mono_tiny) return {"JetBrains Mono", false, size(10)};
    if (font == fonts.mono_small) return {"JetBrains Mono", false, size(11.5F)};
    if (font == fonts.mono) return {"JetBrains Mono", false, size(13)};
    if (font == fonts.mono_body) return {"JetBrains Mono", false, size(14)};
    if (font == fonts.formula) return {"JetBrains Mono", false, size(20)};
    return {"Inter", false, size(14)};
}

void append_utf8(std::string& text, unsigned code) {
    if (code < 0x80) text += static_cast<char>(code);
    else if (code < 0x800) (text += static_cast<char>(0xC0U | code >> 6)) += static_cast<char>(0x80U | (code & 0x3FU));
    else
        ((text += static_cast<char>(0xE0U | code >> 12)) += static_cast<char>(0x80U | (code >> 6 & 0x3FU))) +=
            static_cast<char>(0x80U | (code & 0x3FU));
}

/// Looks up glyphs by their position in the font atlas.
class Letters {
public:
    struct Letter {
        const ImFont* font = nullptr;
        const ImFontGlyph* glyph = nullptr;
    };
    explicit Letters(const ImFontAtlas& atlas) : width_(static_cast<float>(atlas.TexWidth)), height_(static_cast<float>(atlas.TexHeight)) {
        for (const ImFont* font : atlas.Fonts)
            for (const ImFontGlyph& glyph : font->Glyphs)
                if (glyph.Visible) letters_[key(glyph.U0, glyph.V0)] = {font, &glyph};
    }
    Letter at(float u, float v) const {
        const auto found = letters_.find(key(u, v));
        return found == letters_.end() ? Letter{} : found->second;
    }

private:
    std::pair<int, int> key(float u, float v) const {
        return {static_cast<int>(std::lround(u * width_)), static_cast<int>(std::lround(v * height_))};
    }
    float width_, height_;
    std::map<std::pair<int, int>, Letter> letters_;
};

/// Joins consecutive glyphs on a line into one text element.
class TextRun {
public:
    TextRun(SvgElements& out, const Theme& theme) : out_(out), theme_(theme) {}

    void add(const Letters::Letter& letter, const ImDrawVert* quad) {
        const ImFontGlyph& g = *letter.glyph;
        const SvgPoint p0 = point(quad[0].pos), p1 = point(quad[1].pos);
        const float length = std::max(distance(p0, p1), 1e-3F), scale = length / (g.X1 - g.X0);
        const SvgPoint along{(p1.x - p0.x) / length, (p1.y - p0.y) / length}, down{-along.y, along.x};
        const float rise = (letter.font->Ascent - g.Y0) * scale;
        const SvgPoint pen{p0.x - along.x * g.X0 * scale + down.x * rise, p0.y - along.y * g.X0 * scale + down.y * rise};
        if (!continues(letter, pen, along, quad[0].col)) {
            flush();
            font_ = letter.font;
            along_ = along;
            text_.at = pen;
            text_.color = quad[0].col;
            text_.angle = std::round(std::atan2(along.y, along.x) * 57.29578F);
            scale_ = scale;
        }
        append_utf8(text_.text, g.Codepoint);
        end_ = {pen.x + along.x * g.AdvanceX * scale, pen.y + along.y * g.AdvanceX * scale};
    }

    void flush() {
        if (text_.text.empty()) return;
        const Face face = face_of(theme_.fonts, font_, theme_.scale);
        text_.family = face.family;
        text_.semibold = face.semibold;
        text_.size = face.size;
        text_.length = distance(text_.at, end_);
        const float up = font_->Ascent * scale_, low = font_->Descent * scale_;
        const SvgPoint down{-along_.y, along_.x};
        for (const SvgPoint& p : {text_.at, end_})
            for (const float reach : {-up, -low}) {
                const SvgPoint corner{p.x + down.x * reach, p.y + down.y * reach};
                SvgBox& box = text_.box;
                const bool first = box.x0 == 0 && box.x1 == 0;
                box = first ? SvgBox{corner.x, corner.y, corner.x, corner.y}
                            : SvgBox{std::min(box.x0, corner.x), std::min(box.y0, corner.y), std::max(box.x1, corner.x),
                                     std::max(box.y1, corner.y)};
            }
        out_.text(text_);
        text_ = {};
    }

private:
    /// The glyphs of a text are adjacent, evenly spaced by a few pixels, or separated by whole spaces.
    bool continues(const Letters::Letter& letter, const SvgPoint& pen, const SvgPoint& along, std::uint32_t color) {
        if (text_.text.empty() || letter.font != font_ || color != text_.color) return false;
        if (std::abs(along.x - along_.x) > 0.01F || std::abs(along.y - along_.y) > 0.01F) return false;
        const SvgPoint step{pen.x - end_.x, pen.y - end_.y};
        const float gap = step.x * along.x + step.y * along.y, off = step.y * along.x - step.x * along.y;
        if (std::abs(off) > 0.3F || gap < -0.6F) return false;
        const float space = std::max(letter.font->GetCharAdvance(' ') * scale_, 1.F);
        if (gap < 0.5F * space) return true;
        const float spaces = std::round(gap / space);
        if (spaces > 2 || std::abs(gap - spaces * space) > 0.15F) return false;
        text_.text.append(static_cast<std::size_t>(spaces), ' ');
        return true;
    }

    SvgElements& out_;
    const Theme& theme_;
    const ImFont* font_ = nullptr;
    SvgPoint along_{1, 0}, end_;
    float scale_ = 1;
    SvgText text_;
};

/// Joins consecutive line segments into one polyline.
class Stroke {
public:
    explicit Stroke(SvgElements& out) : out_(out) {}

    /// `corners`: the four corners in ImGui's order for a segment or a rectangle.
    void add(const std::vector<SvgPoint>& corners, std::uint32_t color) {
        const SvgPoint from = middle(corners[0], corners[3]), to = middle(corners[1], corners[2]);
        const float width = distance(corners[0], corners[3]);
        const bool goes_on =
            !points_.empty() && color == color_ && std::abs(width - width_) < 0.02F && distance(from, points_.back()) < 0.05F;
        if (!goes_on) {
            flush();
            points_ = {from};
            corners_ = corners;
            color_ = color;
            width_ = width;
        }
        points_.push_back(to);
    }
    void flush() {
        if (points_.size() == 2) out_.polygon(corners_, color_);
        else if (points_.size() > 2) out_.stroke(std::move(points_), width_, color_);
        points_.clear();
    }

private:
    SvgElements& out_;
    std::vector<SvgPoint> points_, corners_;
    std::uint32_t color_ = 0;
    float width_ = 0;
};

bool is_segment(const std::vector<SvgPoint>& p) {
    if (p.size() != 4) return false;
    const bool parallel =
        std::abs((p[1].x - p[0].x) - (p[2].x - p[3].x)) < 0.02F && std::abs((p[1].y - p[0].y) - (p[2].y - p[3].y)) < 0.02F;
    const float product = (p[1].x - p[0].x) * (p[3].x - p[0].x) + (p[1].y - p[0].y) * (p[3].y - p[0].y);
    return parallel && std::abs(product) < 0.05F * std::max(1.F, distance(p[0], p[1]) * distance(p[0], p[3]));
}

/// Reconstructs shapes from the triangles of a draw list.
class Reader {
public:
    Reader(const Letters& letters, const ImVec2& white, const Theme& theme, SvgElements& out)
        : letters_(letters), white_(white), out_(out), text_(out, theme), stroke_(out) {}

    void read(const ImDrawList& list) {
        for (const ImDrawCmd& command : list.CmdBuffer) {
            out_.clip({command.ClipRect.x, command.ClipRect.y, command.ClipRect.z, command.ClipRect.w});
            if (const SvgHeatmap* heatmap = SvgCanvas::heatmap_of(command)) out_.heatmap(*heatmap);
            else if (command.UserCallback == nullptr) read(list, command);
            flush();
        }
    }

private:
    void flush() {
        text_.flush();
        stroke_.flush();
    }

    void read(const ImDrawList& list, const ImDrawCmd& command) {
        const ImDrawVert* vertices = list.VtxBuffer.Data + command.VtxOffset;
        const ImDrawIdx* index = list.IdxBuffer.Data + command.IdxOffset;
        for (unsigned i = 0; i + 2 < command.ElemCount;) i += shape(vertices, index + i, command.ElemCount - i);
    }

    /// Converts the shape that begins here; returns the number of indices consumed.
    unsigned shape(const ImDrawVert* vertices, const ImDrawIdx* index, unsigned left) {
        const ImDrawVert& first = vertices[index[0]];
        const bool solid = std::abs(first.uv.x - white_.x) < 1e-5F && std::abs(first.uv.y - white_.y) < 1e-5F;
        if (!solid) return letter(vertices, index, left);
        text_.flush();
        unsigned count = 3;
        std::vector<SvgPoint> points{point(first.pos), point(vertices[index[1]].pos), point(vertices[index[2]].pos)};
        // A triangle fan: all triangles share the first corner and continue from the previous one.
        while (count + 2 < left && index[count] == index[0] && index[count + 1] == index[count - 1]) {
            points.push_back(point(vertices[index[count + 2]].pos));
            count += 3;
        }
        if (points.size() == 4 && shaded(vertices, index)) return count;
        if (is_segment(points)) stroke_.add(points, first.col);
        else {
            stroke_.flush();
            out_.polygon(points, first.col);
        }
        return count;
    }

    /// Handles a rectangle with a gradient.
    bool shaded(const ImDrawVert* vertices, const ImDrawIdx* index) {
        const ImDrawVert &a = vertices[index[0]], &b = vertices[index[1]], &c = vertices[index[2]];
        if (a.col == b.col && b.col == c.col) return false;
        stroke_.flush();
        const bool vertical = a.col == b.col;
        out_.gradient({a.pos.x, a.pos.y, c.pos.x, c.pos.y}, a.col, vertical ? c.col : b.col, vertical);
        return true;
    }

    unsigned letter(const ImDrawVert* vertices, const ImDrawIdx* index, unsigned left) {
        stroke_.flush();
        if (left < 6) return left;
        const ImDrawVert* quad = vertices + index[0];
        if (const Letters::Letter found = letters_.at(quad[0].uv.x, quad[0].uv.y); found.glyph != nullptr) text_.add(found, quad);
        return 6;
    }

    const Letters& letters_;
    const ImVec2 white_;
    SvgElements& out_;
    TextRun text_;
    Stroke stroke_;
};

}  // namespace

PlainShapes::PlainShapes() {
    ImGuiStyle& style = ImGui::GetStyle();
    lines_ = std::exchange(style.AntiAliasedLines, false);
    textured_lines_ = std::exchange(style.AntiAliasedLinesUseTex, false);
    fill_ = std::exchange(style.AntiAliasedFill, false);
    curve_error_ = std::exchange(style.CircleTessellationMaxError, 0.05F);
}

PlainShapes::~PlainShapes() {
    ImGuiStyle& style = ImGui::GetStyle();
    style.AntiAliasedLines = lines_;
    style.AntiAliasedLinesUseTex = textured_lines_;
    style.AntiAliasedFill = fill_;
    style.CircleTessellationMaxError = curve_error_;
}

std::string svg_of(const ImDrawData& data, const Theme& theme, std::string_view title, bool trim) {
    const ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
    const Letters letters(atlas);
    SvgElements elements(theme.colors.pane);
    Reader reader(letters, atlas.TexUvWhitePixel, theme, elements);
    for (int i = 0; i < data.CmdListsCount; ++i) reader.read(*data.CmdLists[i]);
    const SvgBox whole{0, 0, data.DisplaySize.x, data.DisplaySize.y};
    return elements.document(trim ? elements.seen_within(whole, static_cast<float>(kPictureMargin)) : whole, theme, title);
}

}  // namespace attn::app
