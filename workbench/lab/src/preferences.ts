/**
 * The user's settings, for the rest of the extension.
 */

import type { ISettingRegistry } from '@jupyterlab/settingregistry';
import { Signal, type ISignal } from '@lumino/signaling';

export class Preferences {
  /** Whether profiled cells show line heat. */
  get lineHeat(): boolean {
    return this.get('lineHeat', true);
  }

  /** Key of the measure that line heat shows. */
  get heatMeasure(): string {
    return this.get('heatMeasure', 'time_cycles');
  }

  /** Whether words show their documentation when the pointer is on them. */
  get hover(): boolean {
    return this.get('hover', true);
  }

  /** Whether the compiler checks a cell while the user types. */
  get typing(): boolean {
    return this.get('typing', true);
  }

  /** Whether the sidebar shows its guide. */
  get welcome(): boolean {
    return this.get('welcome', true);
  }

  /** Columns that the ISA view does not show, such as "Address". */
  get isaHidden(): readonly string[] {
    return this.get<readonly string[]>('isaHidden', []);
  }

  /** Whether instructions have the colour of their line. */
  get isaColours(): boolean {
    return this.get('isaColours', true);
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** Whether the settings are known. */
  get isReady(): boolean {
    return this.settings !== null;
  }

  /** Follows the settings from now on. */
  follow(settings: ISettingRegistry.ISettings): void {
    this.settings = settings;
    settings.changed.connect(() => this._changed.emit());
    this._changed.emit();
  }

  async set(
    key: 'lineHeat' | 'heatMeasure' | 'hover' | 'welcome' | 'isaHidden' | 'isaColours',
    value: boolean | string | string[]
  ): Promise<void> {
    this.local.set(key, value);
    this._changed.emit();
    await this.settings?.set(key, value);
    this.local.delete(key);
  }

  private get<T>(key: string, otherwise: T): T {
    return (this.local.get(key) ?? this.settings?.composite[key] ?? otherwise) as T;
  }

  private settings: ISettingRegistry.ISettings | null = null;
  // The new value, until the settings have it.
  private local = new Map<string, unknown>();
  private _changed = new Signal<this, void>(this);
}
