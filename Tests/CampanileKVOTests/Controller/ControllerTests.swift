import Campanile
import CampanileKVO
import Testing

@Suite("KVOController", .ownThread)
struct ControllerTests {
  final class Panel: KVOChangeHandler {
    var changes: [KVOChange<Any>] = []
    var volumes: [Int] = []
    lazy var kvo = KVOController(owner: self)
    func volumeChanged(_ radio: Radio, _ change: KVOChange<Int>) { volumes.append(change.new) }
    func handleChange(of object: AnyObject, _ change: KVOChange<Any>) { changes.append(change) }
  }

  let radio = Radio()

  @Test("A method of the owner is called in an observer, which does not keep the owner")
  func method() {
    var panel: Panel? = Panel()
    weak let weakPanel = panel
    panel?.kvo.observe(radio, \.volume) { $0.volumeChanged($1, $2) }
    radio.volume = 3
    #expect(panel?.volumes == [3])
    panel = nil
    #expect(weakPanel == nil)
    radio.volume = 4
  }

  @Test("The method for all changes is told all there is to a change")
  func generalHandler() {
    let panel = Panel()
    panel.kvo.observe(radio, \.presets, options: [.old, .prior])
    radio.mutableArray(\.presets).append("a")
    #expect(panel.changes.map(\.phase) == [.prior, .changed])
    #expect(panel.changes.map(\.edit) == [.insertion, .insertion])
    #expect(panel.changes.map { $0.old as? [String] } == [[], []])
    #expect(panel.changes.map { $0.new as? [String] } == [[], ["a"]])
    #expect(panel.changes.allSatisfy { $0.path == \Radio.presets })
    #expect(panel.changes[1].indexes == RangeSet(0..<1))
    #expect(panel.changes[1].changedPaths == [KVOPath(\Radio.presets)])
  }
}
