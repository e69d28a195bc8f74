#include "engine/grammar/stories.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "engine/grammar/story_words.hpp"

namespace attn {
namespace {

using Words = std::string_view;

constexpr std::array<Words, 8> kGirls = {"Lily", "Anna", "Mia", "Emma", "Nora", "Sara", "Ella", "Rosa"};
constexpr std::array<Words, 8> kBoys = {"Tom", "Ben", "Max", "Sam", "Leo", "Jack", "Finn", "Paul"};
constexpr std::array<Words, 10> kToys = {"ball", "book", "kite", "drum", "doll", "hat", "cup", "boat", "bell", "flute"};
constexpr std::array<Words, 8> kLooks = {"red", "blue", "green", "yellow", "white", "black", "new", "old"};
constexpr std::array<Words, 8> kPlaces = {"in the garden", "in the park", "in the yard", "in the forest",
                                          "at the beach",  "at the lake", "at the farm", "at the zoo"};
/// One can be under the first kUnder of these.
constexpr std::array<Words, 6> kSpots = {"tree", "bush", "table", "bench", "house", "wall"};
constexpr std::array<Words, 6> kManySpots = {"trees", "bushes", "tables", "benches", "houses", "walls"};
constexpr std::size_t kUnder = 4;
constexpr std::array<Words, 5> kPlay = {"laughs", "dances", "jumps", "runs", "sings"};

struct Animal {
    Words one, many, it_does, they_do;
};
constexpr std::array<Animal, 8> kAnimals = {{{"dog", "dogs", "barks", "bark"},
                                             {"cat", "cats", "purrs", "purr"},
                                             {"bird", "birds", "sings", "sing"},
                                             {"frog", "frogs", "jumps", "jump"},
                                             {"horse", "horses", "runs", "run"},
                                             {"duck", "ducks", "swims", "swim"},
                                             {"owl", "owls", "hoots", "hoot"},
                                             {"mouse", "mice", "squeaks", "squeak"}}};

/// The two sides of a contrast.
struct Pair {
    Words one, other;
};
constexpr std::array<Pair, 8> kOpposites = {{{"happy", "sad"},
                                             {"tall", "short"},
                                             {"fast", "slow"},
                                             {"strong", "weak"},
                                             {"hungry", "full"},
                                             {"cold", "warm"},
                                             {"dirty", "clean"},
                                             {"loud", "quiet"}}};

/// A feeling and its cause; S stands for she or he, H for her or his.
struct Cause {
    Words feels, because;
};
constexpr std::size_t kWeathers = 2;  // the first of the causes; a story has only one of them
constexpr std::array<Cause, 7> kCauses = {{{"wet", "it is raining"},
                                           {"cold", "it is snowing"},
                                           {"tired", "S ran all day"},
                                           {"hungry", "S did not eat"},
                                           {"dirty", "S fell in the mud"},
                                           {"happy", "it is H birthday"},
                                           {"scared", "S heard a noise"}}};

struct Effect {
    Words feels, so;
    std::array<Words, 3> what;
};
constexpr std::array<Effect, 5> kEffects = {{{"hungry", "eats", {"an apple", "some bread", "some soup"}},
                                             {"thirsty", "drinks", {"some milk", "some water", "some tea"}},
                                             {"tired", "goes to", {"bed", "bed", "sleep"}},
                                             {"cold", "puts on", {"a coat", "a coat", "a scarf"}},
                                             {"dirty", "takes a", {"bath", "bath", "shower"}}}};

/// Words that are in none of the tables above.
constexpr Words kOtherWords =
    ". , ! ? \" The the She she He he They they it In in at to a an and but because so So One Now Then Who Where Here day is are has "
    "nothing "
    "with meets goes comes too gives her him his Thank you says asks lost finds Look I like likes also sees that near behind under garden "
    "park yard forest beach lake farm zoo raining snowing ran all did not eat fell mud birthday heard noise eats apple some bread soup "
    "drinks milk water tea bed sleep puts on coat scarf takes bath shower wet tired scared thirsty evening go home end play together";

template <std::size_t n>
Words one_of(Teller& teller, const std::array<Words, n>& words) {
    return words[teller.among(n)];
}

std::string with_article(Words word) {
    const bool vowel = std::string_view("aeiou").find(word.front()) != std::string_view::npos;
    return (vowel ? "an " : "a ") + std::string(word);
}

struct Child {
    Words name;
    bool girl = false;
};

template <std::size_t n>
constexpr std::array<int, n> all_of() {
    std::array<int, n> all{};
    for (int& one : all) one = 1;
    return all;
}

enum class Begins : bool { No, Yes };

class Story {
public:
    explicit Story(Teller& teller) : teller_(teller) {}

    void tell() {
        if (teller_.maybe(1, 4)) {
            open_with_gift();
        } else {
            open();
            hand_out();
        }
        while (teller_.maybe(3, 1)) event();
        close();
    }

private:
    // ---- who and what ----

    void say(Words words) { teller_.say(words); }
    bool alone(std::size_t child) const {
        return std::count_if(children_.begin(), children_.end(), [&](const Child& c) { return c.girl == children_[child].girl; }) == 1;
    }
    Words she(std::size_t child, Begins begins) const {
        return children_[child].girl ? begins == Begins::Yes ? "She" : "she" : begins == Begins::Yes ? "He" : "he";
    }
    /// By name, or by a pronoun if it is unambiguous.
    void say_child(std::size_t child, Begins begins) {
        say(alone(child) && teller_.maybe(1, 1) ? she(child, begins) : children_[child].name);
    }
    void say_to_child(std::size_t child) {
        say(alone(child) && teller_.maybe(1, 1) ? children_[child].girl ? "her" : "him" : children_[child].name);
    }
    void say_where(const std::array<Words, kSpots.size()>& spots) {
        const std::size_t way = teller_.among(3);
        say(way == 0 ? "near the" : way == 1 ? "behind the" : "under the");
        say(spots[teller_.among(way == 2 ? kUnder : spots.size())]);
    }
    void say_toy() {
        say("the");
        say(toy_);
    }
    std::size_t any_child() { return teller_.among(children_.size()); }
    std::size_t any_child_but(std::size_t child) {
        const std::size_t drawn = teller_.among(children_.size() - 1);
        return drawn + (drawn >= child ? 1 : 0);
    }
    /// Chooses one of those left and removes it.
    template <std::size_t n>
    std::size_t take_one(std::array<int, n>& left) {
        const std::size_t taken = teller_.choose(std::span<const int>(left));
        left[taken] = 0;
        return taken;
    }
    template <std::size_t n>
    static bool any_left(const std::array<int, n>& left) {
        return std::find(left.begin(), left.end(), 1) != left.end();
    }
    void add_child(bool girl) { children_.push_back({girl ? one_of(teller_, kGirls) : one_of(teller_, kBoys), girl}); }

    // ---- the beginning ----

    void open() {
        const bool girl_first = teller_.maybe(1, 1);
        const std::size_t way = teller_.choose({2, 1, 1});
        if (way == 1) say("One day");
        add_child(girl_first);
        say(children_[0].name);
        if (way == 2) {
            place_ = one_of(teller_, kPlaces);
            say("is");
            say(place_);
            say("with");
            add_child(!girl_first);
            say(children_[1].name);
            return say(".");
        }
        say(way == 0 ? "and" : "meets");
        add_child(!girl_first);
        say(children_[1].name);
        if (way == 0) say("are");
        place_ = one_of(teller_, kPlaces);
        say(place_);
        say(".");
    }

    /// "Tom gives a red ball to Lily because she is sad .": giver, receiver and toy in one sentence.
    void open_with_gift() {
        const bool girl_first = teller_.maybe(1, 1);
        add_child(girl_first);
        say(children_[0].name);
        say("gives");
        const bool toy_first = teller_.maybe(1, 1);
        if (toy_first) {
            say_new_toy();
            say("to");
        }
        add_child(!girl_first);
        say(children_[1].name);
        if (!toy_first) say_new_toy();
        if (teller_.maybe(3, 1)) say_reason(1);
        say(".");
        holder_ = 1;
        after_gift(0);
    }

    /// Why somebody is given the toy.
    void say_reason(std::size_t taker) {
        say("because");
        const std::size_t way = teller_.among(3);
        if (way == 2) {
            say("it is");
            say(children_[taker].girl ? "her" : "his");
            return say("birthday");
        }
        say(she(taker, Begins::No));
        say(way == 0 ? "is sad" : "likes it");
    }

    /// Introduces who has the toy and who has nothing.
    void hand_out() {
        holder_ = any_child();
        say_child(holder_, Begins::Yes);
        say("has");
        say_new_toy();
        if (teller_.maybe(3, 2)) {
            say(", but");
            say_child(1 - holder_, Begins::No);
            say("has nothing");
        }
        say(".");
    }

    /// "an old book", which is "the book" afterwards.
    void say_new_toy() {
        say(with_article(one_of(teller_, kLooks)));
        toy_ = one_of(teller_, kToys);
        say(toy_);
    }

    // ---- what happens ----

    void event() {
        switch (teller_.choose({7, 3, any_left(opposites_) ? 3 : 0, any_left(causes_) ? 3 : 0, any_left(effects_) ? 2 : 0, listed_ ? 0 : 2,
                                2, 1, 3, summed_up_ ? 0 : 5, 7, children_.size() == 2 ? 1 : 0})) {
        case 0:
            return give();
        case 1:
            return lose();
        case 2:
            return contrast();
        case 3:
            return cause();
        case 4:
            return effect();
        case 5:
            return list();
        case 6:
            return agree();
        case 7:
            return repeat();
        case 8:
            return speak();
        case 9:
            return who_has();
        case 10:
            return recap();
        default:
            return arrive();
        }
    }

    void give() {
        const std::size_t giver = holder_, taker = any_child_but(giver);
        say_child(giver, Begins::Yes);
        say("gives");
        if (teller_.maybe(1, 1)) {
            say_toy();
            say("to");
            say_to_child(taker);
        } else {
            say_to_child(taker);
            say_toy();
        }
        if (alone(taker) && teller_.maybe(1, 3)) say_reason(taker);
        say(".");
        holder_ = taker;
        after_gift(giver);
    }

    void after_gift(std::size_t giver) {
        switch (teller_.choose({2, 2, 2})) {
        case 1:
            return thank(giver, holder_);
        case 2:
            return now(giver);
        default:
            return;
        }
    }

    void thank(std::size_t whom, std::size_t who) {
        say("\" Thank you ,");
        say(children_[whom].name);
        say("! \" says");
        say(children_[who].name);
        say(".");
    }

    /// Who has the toy now, or that the giver has nothing left.
    void now(std::size_t giver) {
        say("Now");
        if (teller_.maybe(1, 1)) {
            say(children_[giver].name);
            return say("has nothing .");
        }
        say(children_[holder_].name);
        say("has");
        say_toy();
        say(".");
    }

    void lose() {
        const std::size_t loser = holder_, finder = any_child_but(loser);
        say_child(loser, Begins::Yes);
        say("is sad because");
        say(she(loser, Begins::No));
        say("lost");
        say_toy();
        say(".");
        say(children_[finder].name);
        say("finds it");
        say_where(kSpots);
        say("and gives it to");
        say_to_child(loser);
        say(".");
        if (teller_.maybe(2, 1)) thank(finder, loser);
    }

    void contrast() {
        const std::size_t one = any_child();
        say_child(one, Begins::Yes);
        say("is");
        const Pair& pair = kOpposites[take_one(opposites_)];
        const bool turned = teller_.maybe(1, 1);
        say(turned ? pair.other : pair.one);
        say(", but");
        say_child(any_child_but(one), Begins::No);
        say("is");
        say(turned ? pair.one : pair.other);
        say(".");
    }

    void cause() {
        const std::size_t child = any_child();
        say_child(child, Begins::Yes);
        say("is");
        const std::size_t way = take_one(causes_);
        const Cause& cause = kCauses[way];
        if (way < kWeathers) std::fill_n(causes_.begin(), kWeathers, 0);
        say(cause.feels);
        say("because");
        for (std::size_t begin = 0; begin < cause.because.size();) {
            const std::size_t end = std::min(cause.because.find(' ', begin), cause.because.size());
            const Words word = cause.because.substr(begin, end - begin);
            say(word == "S" ? she(child, Begins::No) : word == "H" ? children_[child].girl ? "her" : "his" : word);
            begin = end + 1;
        }
        say(".");
        if (teller_.maybe(1, 2)) who_is(cause.feels, child);
    }

    void who_is(Words feels, std::size_t child) {
        say("Who is");
        say(feels);
        say("?");
        say(children_[child].name);
        say("is");
        say(feels);
        say(".");
    }

    void effect() {
        const std::size_t child = any_child();
        say_child(child, Begins::Yes);
        say("is");
        const Effect& effect = kEffects[take_one(effects_)];
        say(effect.feels);
        say(", so");
        say(she(child, Begins::No));
        say(effect.so);
        say(one_of(teller_, effect.what));
        say(".");
        if (teller_.maybe(1, 2)) who_is(effect.feels, child);
    }

    /// Two or three animals that one child sees, and that another then sees too.
    void list() {
        listed_ = true;
        const std::size_t child = any_child();
        say_child(child, Begins::Yes);
        say("sees");
        auto left = all_of<kAnimals.size()>();
        std::string animals = with_article(kAnimals[take_one(left)].one);
        say(animals);
        const auto say_another = [&](Words before) {
            const std::string another = std::string(before) + " " + with_article(kAnimals[take_one(left)].one);
            say(another);
            animals += " " + another;
        };
        if (teller_.maybe(1, 1)) say_another(",");
        say_another("and");
        say(".");
        say(children_[any_child_but(child)].name);
        say("also sees");
        say(animals);
        say(".");
    }

    /// "The dogs near the house are loud .": the verb agrees with the first noun.
    void agree() {
        const Animal& animal = kAnimals[teller_.among(kAnimals.size())];
        const bool many = teller_.maybe(1, 1);
        say("The");
        say(many ? animal.many : animal.one);
        switch (teller_.choose({2, 2, 1})) {
        case 0:
            say_where(teller_.maybe(1, 1) ? kManySpots : kSpots);
            say(many ? "are" : "is");
            break;
        case 1:
            say("that");
            say_child(any_child(), Begins::No);
            say(teller_.maybe(1, 1) ? "sees" : "likes");
            say(many ? "are" : "is");
            break;
        default:
            say(many ? animal.they_do : animal.it_does);
            say("and");
            say(many ? animal.they_do : animal.it_does);
            return say(".");
        }
        const Pair& pair = kOpposites[teller_.among(kOpposites.size())];
        say(teller_.maybe(1, 1) ? pair.one : pair.other);
        say(".");
    }

    void repeat() {
        const Words does = one_of(teller_, kPlay);
        say_child(any_child(), Begins::Yes);
        say(does);
        say("and");
        say(does);
        if (teller_.maybe(1, 1)) {
            say("and");
            say(does);
        }
        say(".");
    }

    void speak() {
        switch (teller_.choose({2, 2, 1})) {
        case 0: {  // the child who has it answers
            say("\" Where is");
            say_toy();
            say("? \" asks");
            say(children_[any_child_but(holder_)].name);
            say(". \" Here it is , \" says");
            say(children_[holder_].name);
            return say(".");
        }
        case 1: {
            const std::size_t who = any_child_but(holder_);
            say(children_[who].name);
            say("says , \" I like");
            say_toy();
            return say("! \"");
        }
        default: {
            const Animal& animal = kAnimals[teller_.among(kAnimals.size())];
            say("\" Look ,");
            say(with_article(animal.one));
            say("! \" says");
            say(children_[any_child()].name);
            return say(".");
        }
        }
    }

    void who_has() {
        say("Who has");
        say_toy();
        say("?");
        say(children_[holder_].name);
        say("has");
        say_toy();
        say(".");
    }

    /// "So Lily has the red ball , and Tom has nothing .", all of which follows from the story.
    void recap() {
        summed_up_ = true;
        for (std::size_t child = 0; child < children_.size(); ++child) {
            say(child == 0 ? "So" : ", and");
            say(children_[child].name);
            say("has");
            if (child == holder_) say_toy();
            else say("nothing");
        }
        say(".");
    }

    /// A third child, which makes the pronoun of its gender ambiguous.
    void arrive() {
        say("Then");
        const bool girl = teller_.maybe(1, 1);
        const Words name = other_name(girl ? kGirls : kBoys);
        children_.push_back({name, girl});
        say(name);
        say("comes");
        if (!place_.empty()) {
            say("to");
            say(place_.substr(place_.find(' ') + 1));  // "the park"
        }
        say("too .");
    }
    Words other_name(const std::array<Words, kGirls.size()>& names) {
        std::array<int, kGirls.size()> weights;
        for (std::size_t i = 0; i < names.size(); ++i)
            weights[i] =
                std::none_of(children_.begin(), children_.end(), [&](const Child& child) { return child.name == names[i]; }) ? 1 : 0;
        return names[teller_.choose(std::span<const int>(weights))];
    }

    // ---- the end ----

    void close() {
        switch (teller_.choose({1, 2, summed_up_ ? 0 : 4})) {
        case 1:
            who_has();
            break;
        case 2:
            recap();
            break;
        default:
            break;
        }
        switch (teller_.choose({2, 1, 1})) {
        case 1:
            say("In the evening they go home .");
            break;
        case 2:
            say("They play together in the evening .");
            break;
        default:
            break;
        }
        say("The end .");
    }

    Teller& teller_;
    std::vector<Child> children_;
    Words toy_;               ///< this story's toy
    std::size_t holder_ = 0;  ///< index of the child who has the toy now
    Words place_;
    // 1 for what the story has not said yet, so that it never contradicts itself.
    std::array<int, kOpposites.size()> opposites_ = all_of<kOpposites.size()>();
    std::array<int, kCauses.size()> causes_ = all_of<kCauses.size()>();
    std::array<int, kEffects.size()> effects_ = all_of<kEffects.size()>();
    bool listed_ = false, summed_up_ = false;
};

void tell_story(Teller& teller) { Story(teller).tell(); }

std::vector<std::string> vocabulary() {
    std::vector<std::string> words;
    const auto add = [&words](Words word) {
        if (std::find(words.begin(), words.end(), word) == words.end()) words.emplace_back(word);
    };
    for (std::size_t begin = 0; begin < kOtherWords.size();) {
        const std::size_t end = std::min(kOtherWords.find(' ', begin), kOtherWords.size());
        add(kOtherWords.substr(begin, end - begin));
        begin = end + 1;
    }
    for (const Words word : kGirls) add(word);
    for (const Words word : kBoys) add(word);
    for (const Words word : kLooks) add(word);
    for (const Words word : kToys) add(word);
    for (const Words word : kSpots) add(word);
    for (const Words word : kManySpots) add(word);
    for (const Words word : kPlay) add(word);
    for (const Animal& animal : kAnimals)
        for (const Words word : {animal.one, animal.many, animal.it_does, animal.they_do}) add(word);
    for (const Pair& pair : kOpposites)
        for (const Words word : {pair.one, pair.other}) add(word);
    return words;
}

}  // namespace

const Grammar& stories() {
    static const Grammar kStories(vocabulary(), tell_story);
    return kStories;
}

const std::vector<bool>& names_and_toys() {
    static const std::vector<bool> kAre = [] {
        std::vector<bool> are(stories().vocabulary().size());
        const auto note = [&are](Words word) { are[static_cast<std::size_t>(stories().id_of(word))] = true; };
        std::for_each(kGirls.begin(), kGirls.end(), note);
        std::for_each(kBoys.begin(), kBoys.end(), note);
        std::for_each(kToys.begin(), kToys.end(), note);
        return are;
    }();
    return kAre;
}

const std::vector<StoryWords>& story_words() {
    static const std::vector<StoryWords> kAbout = [] {
        std::vector<StoryWords> about(stories().vocabulary().size(), StoryWords::Other);
        const auto note = [&about](StoryWords kind, const auto& words) {
            for (const Words word : words) about[static_cast<std::size_t>(stories().id_of(word))] = kind;
        };
        const auto note_each = [&note](StoryWords kind, std::initializer_list<Words> words) { note(kind, words); };
        note(StoryWords::Names, kGirls);
        note(StoryWords::Names, kBoys);
        note(StoryWords::Toys, kToys);
        note(StoryWords::Looks, kLooks);
        for (const Words place : kPlaces) note_each(StoryWords::Places, {place.substr(place.rfind(' ') + 1)});
        note(StoryWords::Places, kSpots);
        note(StoryWords::Places, kManySpots);
        for (const Animal& animal : kAnimals) note_each(StoryWords::Animals, {animal.one, animal.many});
        for (const Pair& pair : kOpposites) note_each(StoryWords::Feelings, {pair.one, pair.other});
        for (const Cause& cause : kCauses) note_each(StoryWords::Feelings, {cause.feels});
        for (const Effect& effect : kEffects) note_each(StoryWords::Feelings, {effect.feels});
        return about;
    }();
    return kAbout;
}

}  // namespace attn
