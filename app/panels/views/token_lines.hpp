#pragma once
/// Attention as lines between two columns of tokens: keys on the left, queries on the right, line strength proportional to weight.

#include <optional>
#include <string>
#include <vector>

#include "app/panels/kit/panel_context.hpp"
#include "app/panels/state/lines_state.hpp"
#include "app/session/numbers/number_desk.hpp"
#include "app/widgets/heatmap_view.hpp"

namespace attn::app {

/// Weights drawn in one colour.
struct LineMap {
    Matrix weights;
    std::int64_t head = 0;  ///< kMeanHead: the mean of the heads
    Color color = 0;
    std::string name;        ///< such as "head 2"
    std::int64_t round = 0;  ///< repetition of the head's colour: see head_round()
    /// Dash length in logical pixels; 0: solid.
    float dash() const { return round == 0 ? 0 : round == 1 ? 8.F : 3.F; }
};

/// The tokens of a column. A name is made when it is drawn: those of a long text out of sight are not needed.
struct TokenNames {
    std::int64_t count = 0;
    LabelOf name{};
};

struct TokenLines {
    std::vector<LineMap> maps;
    TokenNames keys, queries;
    float threshold = 0.01F;           ///< smaller weights are not drawn
    float faded = 0;                   ///< opacity of other lines while there is a token of interest; 0: hidden
    std::optional<PointedToken> only;  ///< the token of interest while none is hovered
    bool numbers = false;              ///< show the weights of the token of interest beside its partners
    bool labels = true;
    std::optional<std::int64_t> marked_key, marked_query;  ///< written in the colour of their axis
};

/// Positions of the two columns in pixels.
struct TokenColumns {
    float left = 0, right = 0, top = 0, pitch = 0;
    float line_left = 0, line_right = 0;  ///< where lines start and end, beside the tokens
    float middle(std::int64_t row) const { return top + (static_cast<float>(row) + 0.5F) * pitch; }
};

/// Columns within `width` pixels from `at` on; tokens take up to `side`.
TokenColumns token_columns(ImVec2 at, float width, float side, float pitch);
/// The token at a position, if any.
std::optional<PointedToken> token_at(const TokenColumns& columns, ImVec2 place, std::int64_t keys, std::int64_t queries);

/// Draws a line for every unmasked weight of at least the threshold, strong ones on top, or for the 20,000 strongest. `pointed` is the
/// hovered token. Returns the smallest weight drawn.
float draw_token_lines(const PanelContext& context, const TokenLines& picture, const TokenColumns& columns,
                       const std::optional<PointedToken>& pointed);
/// Shows a tooltip with the strongest partners of a token in each map.
void token_tooltip(const PanelContext& context, const TokenLines& picture, const PointedToken& token);

}  // namespace attn::app
