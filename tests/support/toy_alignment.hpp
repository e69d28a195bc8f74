#pragma once
/// Finds the English word that each word of the other toy language translates, with a dictionary of its own that is independent of the
/// grammar.

#include <map>
#include <string>
#include <vector>

namespace attn::testing_support {

/// The possible translations of English words.
inline const std::map<std::string, std::vector<std::string>>& toy_dictionary() {
    static const std::map<std::string, std::vector<std::string>> made = [] {
        std::map<std::string, std::vector<std::string>> out{{".", {"."}},         {"!", {"!"}},
                                                            {"the", {"le"}},      {"a", {}},
                                                            {"two", {"dun"}},     {"three", {"trin"}},
                                                            {"always", {"semu"}}, {"often", {"ratu"}},
                                                            {"gladly", {"jozu"}}, {"never", {"nu", "semu"}},
                                                            {"in", {"ni"}},       {"near", {"kol"}},
                                                            {"under", {"dru"}},   {"behind", {"ard"}}};
        const auto noun = [&](const std::string& one, const std::string& many, const std::string& word, const std::string& second = "") {
            out[one] = {word};
            out[many] = {word + "n"};
            if (second.empty()) return;
            out[one].push_back(second);
            out[many].push_back(second);
        };
        noun("cat", "cats", "mira");
        noun("bird", "birds", "pila");
        noun("girl", "girls", "nena");
        noun("queen", "queens", "luma");
        noun("mouse", "mice", "suta");
        noun("dog", "dogs", "kelo");
        noun("fox", "foxes", "vuro");
        noun("boy", "boys", "tavo");
        noun("king", "kings", "rego");
        noun("man", "men", "pero");
        noun("teacher", "teachers", "pero", "skolu");
        noun("sailor", "sailors", "pero", "maru");
        noun("garden", "gardens", "felva");
        noun("river", "rivers", "nilo");
        noun("house", "houses", "domo");
        noun("library", "libraries", "domo", "libru");
        noun("hill", "hills", "tolma");
        noun("bridge", "bridges", "krava");
        const auto verb = [&](const std::string& plural, const std::string& one, const std::string& past, const std::string& stem,
                              const std::string& first = "") {
            out[plural] = {stem + "ent"};
            out[one] = {stem + "et"};
            out[past] = {stem + "ut", stem + "unt"};
            if (first.empty()) return;
            for (const std::string& form : {plural, one, past}) out[form].push_back(first);
        };
        verb("see", "sees", "saw", "lok");
        verb("love", "loves", "loved", "amir");
        verb("hear", "hears", "heard", "tun");
        verb("find", "finds", "found", "gad");
        verb("follow", "follows", "followed", "pas");
        verb("help", "helps", "helped", "bun");
        verb("draw", "draws", "drew", "skir");
        verb("watch", "watches", "watched", "lok", "rel");
        verb("remember", "remembers", "remembered", "tor", "mem");
        verb("forget", "forgets", "forgot", "tor", "nul");
        const std::map<std::string, std::string> adjectives{{"small", "tim"}, {"big", "gor"},   {"red", "ruv"},   {"white", "bel"},
                                                            {"happy", "joz"}, {"quick", "zup"}, {"quiet", "mol"}, {"young", "yun"}};
        for (const auto& [english, stem] : adjectives) out[english] = {stem + "a", stem + "an", stem + "o", stem + "on"};
        return out;
    }();
    return made;
}

/// For every word of the answer the index of the English word it translates, -1 if there is none. If several match, they are assigned in
/// order, since subject, object and place have the same order in both languages.
inline std::vector<int> toy_alignment(const std::vector<std::string>& english, const std::vector<std::string>& answer) {
    const auto candidates = [&](const std::string& word) {
        std::vector<int> places;
        for (std::size_t s = 0; s < english.size(); ++s)
            for (const std::string& rendering : toy_dictionary().at(english[s]))
                if (rendering == word) places.push_back(static_cast<int>(s));
        return places;
    };
    std::vector<int> aligned;
    std::map<std::vector<int>, std::size_t> used;
    for (const std::string& word : answer) {
        const std::vector<int> places = candidates(word);
        aligned.push_back(places.empty() ? -1 : places.at(used[places]++ % places.size()));
    }
    return aligned;
}

}  // namespace attn::testing_support
