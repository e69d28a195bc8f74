#pragma once
/// Attention as lines between two columns of tokens: keys at the left, queries at the right, a line as strong as its weight.

#include <optional>
#include <string>
#include <vector>

#include "app/panels/panel_context.hpp"
#include "app/panels/views/lines_state.hpp"

namespace attn::app {

/// The weights that lines of one colour show.
struct LineMap {
    Matrix weights;
    Color color = 0;
    std::string name;        ///< "head 2"
    std::int64_t round = 0;  ///< of the head's colour: see head_round()
    /// Logical pixels of a dash; 0: drawn through.
    float dash() const { return round == 0 ? 0 : round == 1 ? 8.F : 3.F; }
};

struct TokenLines {
    std::vector<LineMap> maps;
    std::vector<std::string> keys, queries;  ///< as they are shown
    float threshold = 0.01F;                 ///< smaller weights are not drawn
    float faded = 0;                         ///< strength of the other lines while one token is looked at; 0: they are gone
    std::optional<PointedToken> only;        ///< looked at while the mouse points at nothing
    bool numbers = false;                    ///< the weights of the token that is looked at stand beside its partners
    bool labels = true;
    std::optional<std::int64_t> marked_key, marked_query;  ///< written in their axis' colour
};

/// Places of the two columns, in pixels.
struct TokenColumns {
    float left = 0, right = 0, top = 0, pitch = 0;
    float line_left = 0, line_right = 0;  ///< where lines begin and end, beside the tokens
    float middle(std::int64_t row) const { return top + (static_cast<float>(row) + 0.5F) * pitch; }
};

/// Columns in `width` pixels from `at` on, with tokens as wide as `side`.
TokenColumns token_columns(ImVec2 at, float width, float side, float pitch);
/// The token at a place, if there is one.
std::optional<PointedToken> token_at(const TokenColumns& columns, ImVec2 place, std::int64_t keys, std::int64_t queries);

/// A line of a picture: which weight of which map, and between which rows.
struct TokenLine {
    std::size_t map = 0;
    std::int64_t query = 0, key = 0;
    float weight = 0;
};
/// The lines of weights of at least `threshold` that are not masked, weakest first so that strong ones lie on top. Beyond `most` the
/// weakest are left out, and `threshold` is raised to the least that is kept.
std::vector<TokenLine> lines_of(const TokenLines& picture, float& threshold, std::size_t most = 20'000);

/// Draws the picture; `pointed` is the token under the mouse. Returns the least weight that is drawn.
float draw_token_lines(const PanelContext& context, const TokenLines& picture, const TokenColumns& columns,
                       const std::optional<PointedToken>& pointed);
/// A tooltip with the strongest partners of a token, map by map.
void token_tooltip(const PanelContext& context, const TokenLines& picture, const PointedToken& token);

}  // namespace attn::app
