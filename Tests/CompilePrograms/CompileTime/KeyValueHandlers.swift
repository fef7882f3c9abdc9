// Thirty observations whose observers are expressions of the kind that compilers find hard.
import Campanile
import CampanileKVO
import Dispatch

extension Screen {
  // The controller, on the main actor.
  func follow(_ player: MainPlayer) {
    let kvo = kvoController
    kvo.observe(player, \.title) { s, mm, c in
      s.text = mm.title + " (" + String(mm.number) + " of " + String(10) + ")"
    }
    kvo.observe(player, \.subtitle, options: .old, policy: .append) { s, mm, c in
      s.text = "from " + ((c.old ?? nil) ?? "none") + " to " + (c.new ?? "none")
    }
    kvo.observe(player, \.number, options: .initial) { s, mm, c in
      s.text = "number: " + String(c.new) + " of " + String(mm.tracks.count) + " " + mm.title
    }
    kvo.observe(player, \.ratio, options: [.old, .distinct]) { s, mm, c in
      s.text = "\((c.old ?? 0) * 100) % to \(c.new * 100 + 0.5) % of " + mm.title
    }
    kvo.observe(player, \.next?.next?.title) { s, mm, c in
      s.text = (c.new ?? "none") + ", " + (mm.next?.title ?? "none") + ", " + mm.title
    }
    kvo.observe(player, \.tracks, options: .old) { s, mm, c in
      s.text = c.new.map { ($0.name ?? "none") + " " + String($0.value) }.joined(separator: ", ")
    }
    // With the class in the key path: without it Swift 6.3 takes seconds, even for one function.
    kvo.observe(player, \MainPlayer.tracks.count, options: .initial) { s, mm, c in
      s.text = c.new > 10 && c.new % 2 == 0 ? "many: " + String(c.new) : "few: " + String(c.new)
    }
    kvo.observe(player, of: { ($0.title, $0.number) }) { s, mm, c in
      s.text = c.new.0 + " " + String(c.new.1) + " of " + String(c.changedPaths.count)
    }
  }

  // Tokens, on the main actor.
  func keep(_ player: MainPlayer, _ counter: Counter) {
    tokens.append(
      player.observe(\.title, options: .old) { mm, c in
        print("title: " + (c.old ?? "none") + " " + c.new + " " + String(mm.number))
      })
    tokens.append(
      player.observe(\.subtitle, options: .old) { mm, c in
        print("name: " + ((c.old ?? nil) ?? "none") + " " + (c.new ?? "none") + " " + mm.title)
      })
    tokens.append(
      player.observe(of: { ($0.title, $0.ratio) }) { mm, c in
        print(c.new.0 + ": " + String(c.new.1 * 100) + " % " + String(mm.number))
      })
    shared.append(
      counter.observe(\.count, options: .old) { counter, c in
        print("count: " + String(c.old ?? 0) + " to " + String(c.new) + " of " + counter.name)
      })
  }

  // Deliveries, for the main actor.
  func deliver(_ player: MainPlayer, _ counter: Counter, _ queue: DispatchQueue) {
    player.changes(of: \.title).observe(owner: self, on: .main) { s, c in
      s.text = c.new + " (" + String(s.text.count) + " of " + String(10) + ")"
    }
    player.changes(of: \.subtitle, options: .old).observe(owner: self, on: .main(ordered: true)) {
      s, c in
      s.text = "from " + ((c.old ?? nil) ?? "none") + " to " + (c.new ?? "none") + " " + s.text
    }
    player.changes(of: \.number, options: .initial).observe(owner: self, on: .queue(queue)) {
      _, c in
      print("number: " + String(c.new) + " of " + String(c.changedPaths.count * 2 + 1))
    }
    counter.changes(of: \.count, options: .old).observe(owner: self, on: .main) { s, c in
      s.text = "count: " + String(c.old ?? 0) + " to " + String(c.new) + " " + s.text
    }
    counter.changes(of: \.name).observe(owner: self, on: .main, options: .once) { s, c in
      s.text = s.text.isEmpty ? "name: " + c.new : s.text + ", " + c.new + " " + String(10)
    }
    counter.changes(of: \.count).observeAsync(owner: self) { @MainActor s, c in
      s.text = "count: " + String(c.new) + " of " + String(s.text.count + 1) + " " + s.text
    }
  }
}

extension Log {
  // A plain object.
  func follow(_ n: Track) {
    kvo.observe(n, \.name) { o, n, c in
      print("name: " + (c.new ?? "none") + " " + String(n.value))
    }
    kvo.observe(n, \.name, options: [.old, .distinct], policy: .append) { o, n, c in
      o.text = "name: " + ((c.old ?? nil) ?? "") + " " + (c.new ?? "") + " " + String(n.value)
    }
    kvo.observe(n, \.ratio, options: .old) { o, n, c in print(c.old ?? 0) }
    kvo.observe(n, \.tags) { o, n, c in
      o.text = c.new.filter { !$0.isEmpty }.map { "#" + $0 + " " }.joined() + String(n.value)
    }
    kvo.observe(n, of: { ($0.name, $0.value) }) { o, n, c in
      print((c.new.0 ?? "none") + " " + String(c.new.1 + n.value * 2) + " " + o.text)
    }
    token = n.observe(\.value, options: [.initial, .old]) { n, c in
      print("value: " + String(c.old ?? 0) + " to " + String(c.new) + " of " + (n.name ?? "none"))
    }
  }
}

extension Store {
  // An object for any thread.
  func follow(_ counter: Counter, _ queue: DispatchQueue) -> ObservationToken {
    kvoController.observe(counter, \.count, options: .old) { store, counter, c in
      store.save("count: " + String(c.old ?? 0) + " to " + String(c.new) + " of " + counter.name)
    }
    kvoController.observe(counter, of: { ($0.count, $0.name) }) { store, counter, c in
      store.save(c.new.1 + ": " + String(c.new.0) + " of " + String(c.changedPaths.count))
    }
    kvoController.observe(counter, \.name, policy: .replace) { store, counter, c in
      store.save(c.new.isEmpty ? "none" : c.new + " (" + String(counter.count) + " of 10)")
    }
    counter.changes(of: \.count, options: .old).observe(owner: self, on: .queue(queue)) {
      store, c in
      store.save("count: " + String(c.old ?? 0) + " to " + String(c.new) + " of " + String(10))
    }
    counter.changes(of: \.name).observeAsync(owner: self) { store, c in
      await Task.yield()
      store.save("name: " + c.new + " (" + String(c.new.count) + " of " + String(10) + ")")
    }
    return counter.changes(of: \.name).observe(on: .queue(queue)) { c in
      print("name: " + c.new + " (" + String(c.new.count) + " of " + String(10) + ")")
    }
  }
}
