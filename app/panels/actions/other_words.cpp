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
    OtherWords{"Undo", "undo, revert"},
    OtherWords{"Redo", "redo, again"},
    OtherWords{"Back along the trail", "back"},
    OtherWords{"Forth along the trail", "forward, forth"},
    OtherWords{"Copy the value", "copy, copy number, value, number"},
    OtherWords{"Copy the program as NumPy", "numpy, code"},
    OtherWords{"Copy the program as PyTorch", "pytorch, torch, code"},
    OtherWords{"Export what is shown", "export, picture, image, png, svg, csv, print, pdf, download"},
    OtherWords{"Export the lesson as a page", "html, web page, handout, print a lesson"},
    OtherWords{"Record your own code", "own code, python, pytorch code, record code, attnscope.py, notebook, hook"},
    OtherWords{"Open as a model", "run the recording, model of the recording, train the recorded code"},
    OtherWords{"Make a lesson step", "make lesson, teach, write a lesson"},
    OtherWords{"Play back the lesson", "my lesson, play lesson"},
    OtherWords{"Draw dropout anew", "another draw, dropout seed"},
    OtherWords{"Open a file", "open, load, import, document"},
    OtherWords{"This example afresh", "reset, start over", true},
    OtherWords{"New document", "new", true},
    OtherWords{"Open a recent file", "recent, recent files, open recent"},
    OtherWords{"Restore unsaved work", "restore, autosave, crash"},
    OtherWords{"Histogram of the map", "histogram, statistics, mean"},
    OtherWords{"Open a model", "model, hugging face, gguf"},
    OtherWords{"Save the document as", "save as"},
    OtherWords{"Save the document", "save, store, keep, checkpoint"},
    OtherWords{"Quit", "quit, exit, close", true},
    OtherWords{"Edit the text", "text, own text, own words, sentence, type, prompt, paste, write a text"},
    OtherWords{"Add a second text", "second text, batch, add"},
    OtherWords{"All words that the model knows", "vocabulary, known words, unknown"},
    OtherWords{"Examples and texts", "example, examples, language, translation"},
    OtherWords{"What “random weights” means", "random, untrained"},
    OtherWords{"Causal mask", "causal, future, triangle, ahead, lookahead"},
    OtherWords{"Padding mask", "padding, pad"},
    OtherWords{"Settings: Masks", "mask, masks"},
    OtherWords{"Settings: Other masks", "window, sliding, prefix, block, paint"},
    OtherWords{"Settings: Softmax", "softmax"},
    OtherWords{"Settings: Sampler", "sampling, sampler"},
    OtherWords{"Settings: Tokens", "tokens, tokenizer, pieces, byte, bytes"},
    OtherWords{"Settings: Parts", "position, positions, rotary, alibi"},
    OtherWords{"Settings: Changes", "what if, edit, edits, change"},
    OtherWords{"Settings: Compare", "compare with"},
    OtherWords{"Settings: Break it on purpose", "break, mistake"},
    OtherWords{"Settings: Find heads", "previous, sink, induction, repeat, pattern"},
    OtherWords{"Settings: hide or show", "panes, hide, sidebar"},
    OtherWords{"Search the settings", "all settings, settings, options, preferences, find a setting"},
    OtherWords{"Map of the model", "map, overview, blocks"},
    OtherWords{"Next head", "head, heads"},
    OtherWords{"Next layer", "layer, layers, deeper"},
    OtherWords{"Everything larger", "font, size, bigger, larger, zoom, text size, enlarge"},
    OtherWords{"Everything smaller", "smaller, text smaller, shrink"},
    OtherWords{"Light or dark", "theme, dark, light, night, day, mode"},
    OtherWords{"Colours of", "colour, color, colours, colors, palette, viridis, contrast, blind"},
    OtherWords{"Keys and hints", "help, keys, shortcuts, manual, glossary, why, what is, shape, about, version, licence"},
    OtherWords{"The picture alone", "full screen, fullscreen, presentation, present, projector, beamer"},
    OtherWords{"Take the tour", "tour, start here, lesson, lessons, course"},
    OtherWords{"Values or gradients", "gradient, gradients, backward, derivative"},
    OtherWords{"Fit the picture", "reset zoom, pan, whole"},
    OtherWords{"Change the chosen number", "set, cell"},
    OtherWords{"Pin this state", "pin, keep, snapshot"},
    OtherWords{"Compare, or stop comparing", "compare, difference, diff, before after"},
    OtherWords{"Delete every edit", "remove edits, clear changes", true},
    OtherWords{"Remove the deliberate mistake", "repair, fix, correct, mend, heal, unbreak"},
    OtherWords{"Break it", "wrong, error, bug, mistake", true},
    OtherWords{"Train correct and broken", "wrong, error, mistake, compare", true},
    OtherWords{"Open the example", "preset, sample"},
    OtherWords{"Show the view Heads, all layers", "grid, all heads"},
    OtherWords{"Show the view Heads", "entropy, spread, spread of heads"},
    OtherWords{"Show the view Lines", "lines, arcs, bertviz, flow"},
    OtherWords{"Show the view Write", "write, generate, continue, branch, fill in"},
    OtherWords{"Show the view Totals", "totals, rollout"},
    OtherWords{"Show the view Lens", "lens, logit lens, guess, prediction"},
    OtherWords{
        "Show the view Knock-out",
        "knock out, ablation, ablate, patching, patch, importance, remove head, leave out, activation, causal tracing, another text"},
    OtherWords{"Show the view Compare weights", "precision, quantized, compare weights"},
    OtherWords{"Show the view Check my code", "doctor, check, bug, nan, wrong, my code, diagnose, debug"},
    OtherWords{"Show the view Train", "train, learn, fit, loss, accuracy, curve"},
    OtherWords{"Start or pause the training", "start, pause, resume, stop"},
    OtherWords{"One training step", "step"},
    OtherWords{"New paused run", "reset run, restart", true},
    OtherWords{"Start a new run", "new run, train again", true},
    OtherWords{"Branch from this step", "branch run, fork"},
    OtherWords{"Lowest held-out loss", "best, best step, overfit, overfitting, lowest"},
    OtherWords{"Back to untrained parameters", "random weights, forget", true},
    OtherWords{"Follow the newest step", "follow, newest, live, latest, last"},
    OtherWords{"Play through the run", "replay, rewind, history, movie"},
    OtherWords{"Optimizer of the run", "optimizer, adam"},
    OtherWords{"Task and model of the run", "task"},
    OtherWords{"Runs", "run, runs, rename, hide a run, overlay, name a run"},
};

}  // namespace

void add_other_words(std::vector<Action>& all) {
    for (Action& action : all)
        for (const OtherWords& words : kOtherWords) {
            if (!action.name.starts_with(words.name)) continue;
            action.also += fmt::format("{}{}", action.also.empty() ? "" : ", ", words.also);
            action.careful |= words.careful;
            break;
        }
}

}  // namespace attn::app
