#include "app/panels/actions/other_words.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace attn::app {
namespace {

/// Applies to every action whose name begins with `name`.
struct OtherWords {
    std::string_view name, also;
    bool careful = false;
};

constexpr std::array kOtherWords = {
    OtherWords{"Remove the deliberate mistake", "repair fix correct mend heal unbreak"},
    OtherWords{"Break it", "wrong error bug mistake", true},
    OtherWords{"Train correct and broken", "wrong error mistake compare", true},
    OtherWords{"Everything larger", "font size text letters bigger zoom in enlarge scale"},
    OtherWords{"Everything smaller", "font size text letters zoom out shrink scale"},
    OtherWords{"Light or dark", "theme colour color mode night day"},
    OtherWords{"Colours of", "color palette map colormap viridis"},
    OtherWords{"Keys and hints", "help shortcuts keyboard manual glossary words"},
    OtherWords{"The picture alone", "fullscreen full screen presentation projector beamer"},
    OtherWords{"Export what is shown", "save picture image png svg csv numpy download"},
    OtherWords{"Open a file", "load import checkpoint model document"},
    OtherWords{"Save the document", "store write keep"},
    OtherWords{"Open the example", "preset model sample", true},
    OtherWords{"Quit", "exit close end", true},
    OtherWords{"Undo", "back revert"},
    OtherWords{"Redo", "again forward"},
    OtherWords{"Start or pause the training", "run train learn stop resume continue"},
    OtherWords{"New paused run", "reset restart train", true},
    OtherWords{"New run, started at once", "restart train again", true},
    OtherWords{"Back to untrained parameters", "random weights forget", true},
    OtherWords{"Follow the newest step", "live latest last"},
    OtherWords{"Play through the run", "rewind replay history movie"},
    OtherWords{"Fit the picture", "reset zoom pan whole"},
    OtherWords{"Causal mask", "triangle future lookahead"},
    OtherWords{"Compare, or stop comparing", "difference diff end"},
    OtherWords{"Values or gradients", "backward backpropagation derivative"},
    OtherWords{"Edit the text", "type sentence write prompt change words"},
    OtherWords{"Change the chosen number", "edit set value cell"},
    OtherWords{"Pin this state", "keep remember snapshot"},
    OtherWords{"Delete every edit", "remove reset clear changes", true},
    OtherWords{"Show the view Totals", "rollout sum"},
    OtherWords{"Show the view Lens", "logit prediction layers"},
    OtherWords{"Show the view Lines", "arcs bertviz flow"},
    OtherWords{"Show the view Knock-out", "ablate ablation remove head importance patch patching activation causal tracing another text"},
    OtherWords{"Show the view Doctor", "diagnose check bug debug compare file"},
    OtherWords{"Show the view Train", "learning loss curve"},
};

}  // namespace

void add_other_words(std::vector<Action>& all) {
    for (Action& action : all)
        for (const OtherWords& words : kOtherWords) {
            if (!action.name.starts_with(words.name)) continue;
            action.also += fmt::format(" {}", words.also);
            action.careful |= words.careful;
            break;
        }
}

}  // namespace attn::app
