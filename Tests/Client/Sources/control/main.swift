import Campanile
import Foundation

let ticks = Broadcaster<String>()
let token = ticks.observe { print($0) }
ticks.send(ProcessInfo.processInfo.processName)
withExtendedLifetime(token) {}
