#pragma once
/// How each view is drawn. Their names, keys and sentences are in app/session/document/view.hpp.

#include "app/panels/kit/panel_context.hpp"
#include "app/panels/views/shown_numbers.hpp"

namespace attn::app {

struct ViewPanels {
    View view;
    void (*draw)(PanelContext&);                       ///< the picture; null: the view lays out the whole frame
    void (*draw_cell)(PanelContext&);                  ///< the pane at the right: the chosen cell
    ShownNumbers (*numbers)(PanelContext&) = nullptr;  ///< for copying and exporting; null: none can be
    bool of_document = true;                           ///< the numbers are those of the document, not of files or of tokens already written
    bool needs_model = false;                          ///< shows what a model does when it runs, which a recording does not
    bool needs_trace = true;                           ///< there is nothing to draw before the first pass
};
const ViewPanels& panels_of(View view);

}  // namespace attn::app
