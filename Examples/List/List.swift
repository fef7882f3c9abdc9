import CampanileKVO
import Observation

/// The tracks to play, in order.
final class Playlist: Observable {
  @Observed var tracks = ["Aria", "Bourrée", "Courante", "Gigue"]
}

/// The rows of a list, as a table view keeps them.
///
/// A row lives as long as its element is in the array, even if the element is moved.
final class ListView {
  struct Row {
    let text: String
    /// Counts the created rows.
    let number: Int
  }

  private(set) var rows: [Row] = []
  private var madeCount = 0

  func reload(_ elements: [String]) { rows = elements.map(makeRow) }

  /// Applies a change of the elements to the rows.
  func apply(_ change: KVOChange<[String]>) {
    switch change.kind {
    case .setting: reload(change.new)
    case .insertion(let indexes): update(RangeSet(), indexes, [], change.new)
    case .removal(let indexes): update(indexes, RangeSet(), [], change.new)
    case .replacement(let indexes): update(indexes, indexes, [], change.new)
    case .edits(let removals, let insertions, let moves):
      update(removals, insertions, moves, change.new)
    }
  }

  private func update(
    _ removals: RangeSet<Int>, _ insertions: RangeSet<Int>, _ moves: [KVOMove], _ new: [String]
  ) {
    let sources = Dictionary(uniqueKeysWithValues: moves.map { ($0.to, $0.from) })
    let leaving = Set(moves.map(\.from))
    var staying = rows.indices
      .filter { !removals.contains($0) && !leaving.contains($0) }
      .makeIterator()
    rows = new.indices.map { index in
      if insertions.contains(index) { return makeRow(new[index]) }
      // The other rows keep their order.
      return rows[sources[index] ?? staying.next()!]
    }
  }

  private func makeRow(_ text: String) -> Row {
    madeCount += 1
    return Row(text: text, number: madeCount)
  }
}

@main
struct List {
  static func main() {
    let playlist = Playlist()
    let list = ListView()
    let token = playlist.observe(\.tracks, options: .initial) { playlist, change in
      list.apply(change)
      print("\(change.kind)")
      print("  " + list.rows.map { "\($0.text) (row \($0.number))" }.joined(separator: ", "))
    }
    let tracks = playlist.mutableArray(\.tracks)
    tracks.append("Allemande")
    tracks.sort()
    tracks.remove(at: 0)
    tracks.edit { tracks in
      tracks.move(from: 3, to: 0)
      tracks[1] = "Air"
      tracks.append("Badinerie")
    }
    playlist.tracks = ["Prelude"]
    precondition(list.rows.map(\.text) == playlist.tracks)
    withExtendedLifetime(token) {}
  }
}
