#pragma once
/// The columns in which tokenization steps are drawn: one per typed character, each wide enough for what is written in it.

#include <vector>

namespace attn::app {

class PathColumns {
public:
    PathColumns() = default;
    /// Columns of these relative widths that fill `width` pixels, as far as a unit stays between `least` and `most` pixels.
    PathColumns(std::vector<float> units, float width, float least, float most);
    /// Widens the columns first to last, which may begin and end within a column, until they are `pixels` wide together. To be followed by
    /// settle().
    void widen(float first, float last, float pixels);
    void settle();

    float width() const { return edges_.back(); }
    /// The place of a column, or of a point within it, in pixels from the first.
    float at(float column) const;

private:
    std::vector<float> widths_, edges_{0};  ///< edges: one more than columns
};

/// Columns on the screen.
struct PlacedColumns {
    const PathColumns& columns;
    float left = 0;
    float at(float column) const { return left + columns.at(column); }
};

}  // namespace attn::app
