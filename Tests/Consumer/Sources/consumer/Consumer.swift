import Campanile
import Dispatch

actor Library {
  private(set) var letters: [Character] = []
  func add(_ letter: Character) { letters.append(letter) }
}

@MainActor
final class Screen {
  private(set) var text = ""
  private(set) var counts: [Int] = []

  func follow(_ keyboard: Keyboard, _ counter: Counter) {
    keyboard.observe(owner: self, on: .main) { screen, letter in screen.text.append(letter) }
    counter.observe(owner: self, on: .main, options: [.initial, .distinct]) { screen, count in
      screen.counts.append(count)
    }
  }

  func followAsynchronously(_ keyboard: Keyboard) {
    keyboard.observeAsync(owner: self) { @MainActor screen, letter in
      await Task.yield()
      screen.text.append(letter)
    }
  }
}

/// Every way to observe, with sources of this package.
@main
struct Consumer {
  @MainActor static func main() async throws {
    let (keyboard, counter, library) = (Keyboard(), Counter(), Library())
    let screen = Screen()
    let letters = CurrentValue("")
    let queue = DispatchQueue(label: "consumer")
    let add: @Sendable (Character) -> Void = { letter in letters.update { $0.append(letter) } }

    screen.follow(keyboard, counter)
    screen.followAsynchronously(keyboard)
    keyboard.observe(on: library) { $0.add($1) }
    keyboard.observeAsync(owner: library) { await $0.add($1) }
    keyboard.observe(owner: counter) { counter, _ in counter.increment() }
    keyboard.observeAsync(owner: counter) { counter, _ in counter.increment() }
    let tokens = [
      keyboard.observe { add($0) },
      keyboard.observe(on: .queue(queue)) { add($0) },
      keyboard.observe(on: .queue(queue, buffering: .newest(8))) { add($0) },
      keyboard.observe(on: .main) { add($0) },
      keyboard.observeAsync { add($0) },
      keyboard.observeAsync { @MainActor in add($0) },
      keyboard.map { $0.uppercased() }.observe { add(Character($0)) },
    ]
    let values = keyboard.values()
    let doubled = counter.map { $0 * 2 }
    let both = counter.combined(with: letters)

    keyboard.press("a1b")
    var read = ""
    for await letter in values {
      read.append(letter)
      if read.count == 2 { break }
    }
    while await library.letters.count < 4 || letters.value.count < 14 || counter.value < 4
      || screen.text.count < 4
    {
      await Task.yield()
    }
    precondition(read == "ab")
    precondition(letters.value.sorted() == Array("AB" + "aaaaaa" + "bbbbbb"))
    let added = await library.letters
    precondition(added.sorted() == ["a", "a", "b", "b"])
    precondition(screen.text.sorted() == ["a", "a", "b", "b"])
    precondition(screen.counts.first == 0 && screen.counts.last == 4)
    precondition(doubled.value == 8 && both.value.0 == 4)
    withExtendedLifetime(tokens) {}
    print("Sources of another package are observed in every way.")
  }
}
